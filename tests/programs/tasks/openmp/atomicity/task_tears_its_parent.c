// A marked variable in the steps of the parent. Before it makes the task it reads once; that is another step. Behind it, it
// reads twice, and the task may write in between.
//
// needs: openmp
// expect: atomicity-violation (B) (A) (C)

#include <keirin.h>

int value;
int first, second, third;

int main(void)
{
    keirin_group(&value);
#pragma omp parallel
#pragma omp single
    {
#pragma omp critical(value)
        first = value;
#pragma omp task
        {
#pragma omp critical(value)
            value = 1; // (A)
        }
#pragma omp critical(value)
        second = value; // (B)
#pragma omp critical(value)
        third = value; // (C)
    }
    return 0;
}
