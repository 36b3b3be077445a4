// The first figure of the PTRacer paper (FSE 2016), on the path that has no lock: T2 writes Y without the lock, T3 writes
// it under the lock. X is always locked. C is settled before there are tasks, so every run takes this path.
//
// needs: openmp
// expect: data-race (A) (B) of Y

#include <omp.h>

omp_lock_t L1;
int X, Y;
bool C;

int main()
{
    omp_init_lock(&L1);
#pragma omp parallel
#pragma omp single
    {
        X = 0;
        Y = 0;
        C = false;
#pragma omp task
        {
            omp_set_lock(&L1);
            X += 1;
            omp_unset_lock(&L1);
            if (C) {
                omp_set_lock(&L1);
                Y = 2;
                omp_unset_lock(&L1);
            } else {
                Y = 3; // (A)
            }
        }
#pragma omp task
        {
            omp_set_lock(&L1);
            X += 2;
            Y = 4; // (B)
            omp_unset_lock(&L1);
        }
#pragma omp taskwait
    }
    omp_destroy_lock(&L1);
}
