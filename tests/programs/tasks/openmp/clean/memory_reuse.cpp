// Memory that one task gives back is soon another one's.
//
// needs: openmp
// prints: 5050

#include <cstdio>
#include <memory>
#include <vector>

int main()
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 1; i <= 100; i++) {
#pragma omp task firstprivate(i) shared(sum)
            {
                std::vector<int> numbers(i, 1);
                auto mine = std::make_unique<int>(0);
                for (int number : numbers)
                    *mine += number;
#pragma omp critical
                sum += *mine;
            }
        }
    }
    std::printf("%d\n", sum);
}
