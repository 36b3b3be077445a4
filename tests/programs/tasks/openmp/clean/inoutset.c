// The tasks of an inoutset run at the same time, each on its own element; who reads all comes after them.
//
// needs: openmp
// compilers: clang
// prints: 60

#include <stdio.h>

int table[4];
int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : table)
        for (int i = 0; i < 4; i++)
            table[i] = 10;
        for (int i = 0; i < 4; i++) {
#pragma omp task depend(inoutset : table) firstprivate(i)
            table[i] *= i;
        }
#pragma omp task depend(in : table)
        for (int i = 0; i < 4; i++)
            sum += table[i];
    }
    printf("%d\n", sum);
    return 0;
}
