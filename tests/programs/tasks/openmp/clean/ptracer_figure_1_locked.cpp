// The first figure of the PTRacer paper (FSE 2016), on the path that takes the lock for Y. The path that does not is never
// taken, as C is settled before there are tasks.
//
// needs: openmp

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
        C = true;
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
                Y = 3;
            }
        }
#pragma omp task
        {
            omp_set_lock(&L1);
            X += 2;
            Y = 4;
            omp_unset_lock(&L1);
        }
#pragma omp taskwait
    }
    omp_destroy_lock(&L1);
}
