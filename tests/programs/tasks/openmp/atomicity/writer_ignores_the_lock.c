// The block is one critical section. The other task writes without taking part in it: a race, and the block is torn.
//
// needs: openmp
// expect: data-race (A) (B) of total
// expect: atomicity-violation add

#include <keirin.h>

volatile int total;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("add")
            {
#pragma omp critical(total)
                total = total + 1; // (A)
            }
        }
#pragma omp task
        total = 0; // (B)
    }
    return 0;
}
