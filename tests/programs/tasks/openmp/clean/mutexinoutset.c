// The tasks of a mutexinoutset come in any order but one at a time; who reads comes after all of them.
//
// needs: openmp
// prints: 16

#include <keirin.h>
#include <stdio.h>

int sum;
int shown;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : sum)
        sum = 1;
        for (int i = 1; i <= 5; i++) {
#pragma omp task depend(mutexinoutset : sum) firstprivate(i)
            KEIRIN_ATOMIC("add")
            {
                sum += i;
            }
        }
#pragma omp task depend(in : sum)
        shown = sum;
    }
    printf("%d\n", shown);
    return 0;
}
