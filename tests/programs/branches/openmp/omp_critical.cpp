// One side writes in a critical section, the other one does not.
//
// needs: openmp
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"

int Y, state;

APART void reader()
{
    int seen;
#pragma omp critical
    seen = state;
    if (seen) {
#pragma omp critical
        Y = 3;
    } else {
        Y = 1; // (A)
    }
}

APART void writer()
{
#pragma omp critical
    {
        state = 1;
        Y = 2; // (B)
    }
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
