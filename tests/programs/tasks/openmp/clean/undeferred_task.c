// A task with if(0) is done when the parent goes on, so nobody needs to wait for it.
//
// needs: openmp
// prints: 3

#include <stdio.h>

int value;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task if (0)
        value = 1;
        value += 1;
#pragma omp task if (0)
        value += 1;
    }
    printf("%d\n", value);
    return 0;
}
