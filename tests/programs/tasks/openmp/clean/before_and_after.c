// What the parent does before it makes a task and after it has waited for it is in order with what the task does.
//
// needs: openmp
// prints: 7

#include <stdio.h>

int value;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        value = 1;
#pragma omp task
        value += 2;
#pragma omp taskwait
        value += 4;
    }
    printf("%d\n", value);
    return 0;
}
