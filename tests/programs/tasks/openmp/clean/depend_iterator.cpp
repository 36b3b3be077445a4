// One task depends on many others, named by an iterator.
//
// needs: openmp
// prints: 10

#include <cstdio>

constexpr int PARTS = 5;

int parts[PARTS];
int sum;

int main()
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < PARTS; i++) {
#pragma omp task depend(out : parts[i]) firstprivate(i)
            parts[i] = i;
        }
#pragma omp task depend(iterator(i = 0 : PARTS), in : parts[i])
        for (int i = 0; i < PARTS; i++)
            sum += parts[i];
    }
    std::printf("%d\n", sum);
}
