// A team of one thread is not parallel, whatever its constructs promise, and neither is a region with if(0).
//
// needs: openmp
// prints: 17

#include <stdio.h>

int value;

int main(void)
{
#pragma omp parallel num_threads(1)
    {
        value++;
#pragma omp for nowait
        for (int i = 0; i < 10; i++)
            value++;
#pragma omp sections nowait
        {
#pragma omp section
            value++;
#pragma omp section
            value++;
        }
#pragma omp single nowait
        value++;
    }
#pragma omp parallel if (0)
    {
        value++;
#pragma omp master
        value++;
        value++;
    }
    printf("%d\n", value);
    return 0;
}
