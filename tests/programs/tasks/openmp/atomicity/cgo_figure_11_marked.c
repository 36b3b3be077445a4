// Figure 11 of the atomicity paper (CGO 2016) with X marked: the whole step of T2 must be atomic with regard to it.
//
// needs: openmp
// expect: atomicity-violation (A) (C) (B)

#include <keirin.h>
#include <omp.h>

omp_lock_t L;
int X;

int main(void)
{
    keirin_group(&X);
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
