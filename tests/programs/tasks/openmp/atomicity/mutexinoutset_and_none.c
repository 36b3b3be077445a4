// Tasks of a mutexinoutset do not tear each other. One that has no dependence does.
//
// needs: openmp
// expect: data-race (A) (B) of sum
// expect: atomicity-violation add

#include <keirin.h>

volatile int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(mutexinoutset : sum)
            KEIRIN_ATOMIC("add")
            {
                sum = sum + 10; // (A)
            }
        }
#pragma omp task
        sum = 0; // (B)
    }
    return 0;
}
