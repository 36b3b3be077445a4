// The first figure of the atomicity paper (CGO 2016): T2 reads X and writes it back, T3 writes it, and nothing keeps T3 from
// coming in between. X is marked, so that it must be whole in each step. What T1 wrote comes before both.
//
// needs: openmp
// expect: data-race (A) (B) of X
// expect: atomicity-violation (A) (B)

#include <keirin.h>

volatile int X;
int Y;

int main(void)
{
    keirin_group(&X);
#pragma omp parallel
#pragma omp single
    {
        X = 10;
#pragma omp task
        X = X + 1; // (A)
#pragma omp task
        X = Y; // (B)
#pragma omp taskwait
        Y = X + 1;
    }
    return 0;
}
