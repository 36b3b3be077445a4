// Figure 11 of the atomicity paper (CGO 2016): every access of X is under the lock L and there is no race any more. But T2
// reads and writes back in two critical sections, and T3 may come in between. Nothing is marked: the gap tells it.
//
// needs: openmp
// expect: lock-gap (A) (C) (B)

#include <omp.h>

omp_lock_t L;
int X;

int main(void)
{
    omp_init_lock(&L);
#pragma omp parallel
#pragma omp single
    {
        X = 10;
#pragma omp task
        {
            omp_set_lock(&L);
            int a = X; // (A)
            omp_unset_lock(&L);
            a = a + 1;
            omp_set_lock(&L);
            X = a; // (B)
            omp_unset_lock(&L);
        }
#pragma omp task
        {
            omp_set_lock(&L);
            X = 5; // (C)
            omp_unset_lock(&L);
        }
#pragma omp taskwait
    }
    omp_destroy_lock(&L);
    return 0;
}
