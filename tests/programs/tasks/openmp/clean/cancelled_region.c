// The threads of a cancelled region meet at its end, and the parent may read what they have written before.
//
// needs: openmp
// env: OMP_CANCELLATION=true
// prints: 1

#include <omp.h>
#include <stdio.h>

enum { MOST = 64 };

int cells[MOST];

int main(void)
{
#pragma omp parallel
    {
        cells[omp_get_thread_num() % MOST] = 1;
#pragma omp cancel parallel
        cells[omp_get_thread_num() % MOST] = 2;
    }
    printf("%d\n", cells[0]);
    return 0;
}
