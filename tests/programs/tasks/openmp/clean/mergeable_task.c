// Tasks that may be merged, undeferred and deferred, with the waits that the latter need.
//
// needs: openmp
// prints: 6

#include <stdio.h>

int value;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task mergeable if (0)
        value = 1;
        value += 2;
#pragma omp task mergeable
        value += 3;
#pragma omp taskwait
    }
    printf("%d\n", value);
    return 0;
}
