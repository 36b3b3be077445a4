// A taskwait with a dependence waits for the tasks whose result is used next; the others are waited for later.
//
// needs: openmp
// prints: 1 3

#include <stdio.h>

int left, right;
int early, all;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : left)
        left = 1;
#pragma omp task depend(out : right)
        right = 2;
#pragma omp taskwait depend(in : left)
        early = left;
#pragma omp taskwait
        all = left + right;
    }
    printf("%d %d\n", early, all);
    return 0;
}
