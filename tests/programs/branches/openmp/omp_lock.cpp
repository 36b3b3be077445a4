// The side takes a lock of OpenMP, and releases it before its second write.
//
// needs: openmp
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <omp.h>

int X, Y, state;
omp_lock_t lock;

APART void reader()
{
    omp_set_lock(&lock);
    int seen = state;
    omp_unset_lock(&lock);
    if (seen) {
        omp_set_lock(&lock);
        X = 1;
        omp_unset_lock(&lock);
        Y = 1; // (A)
    }
}

APART void writer()
{
    omp_set_lock(&lock);
    state = 1;
    omp_unset_lock(&lock);
    omp_set_lock(&lock);
    X = 2;
    Y = 2; // (B)
    omp_unset_lock(&lock);
}

int main()
{
    omp_init_lock(&lock);
    state = 0;
    in_parallel(reader, writer);
}
