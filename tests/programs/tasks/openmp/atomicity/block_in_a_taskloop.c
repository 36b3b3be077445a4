// Every task of a taskloop adds to the sum in a block of two critical sections.
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
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 4; i++) {
            KEIRIN_ATOMIC("add")
            {
                int seen;
#pragma omp critical(sum)
                seen = sum;
#pragma omp critical(sum)
                sum = seen + i;
            }
        }
    }
    return 0;
}
