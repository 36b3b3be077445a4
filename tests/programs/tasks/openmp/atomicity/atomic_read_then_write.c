// Each operation is atomic, but the block has two of them. Nothing is a race, and an addition may be lost.
//
// needs: openmp
// expect: atomicity-violation add

#include <keirin.h>

int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("add")
            {
                int seen;
#pragma omp atomic read
                seen = sum;
#pragma omp atomic write
                sum = seen + 1;
            }
        }
#pragma omp task
        {
#pragma omp atomic
            sum += 10;
        }
    }
    return 0;
}
