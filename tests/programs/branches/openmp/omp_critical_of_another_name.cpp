// Both sides write in critical sections, one of which has another name.
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
#pragma omp critical(other)
        Y = 1; // (A)
    }
}

APART void writer()
{
#pragma omp critical
    state = 1;
#pragma omp critical
    Y = 2; // (B)
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
