// Two static loops of the same length give the same iterations to the same thread: no barrier is needed in between.
//
// needs: openmp
// prints: 120

#include <stdio.h>

enum { CELLS = 16 };

int there[CELLS];
int sums[CELLS];

int main(void)
{
    int sum = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < CELLS; i++)
            there[i] = i;
#pragma omp for schedule(static) nowait
        for (int i = 0; i < CELLS; i++)
            sums[i] = there[i];
    }
    for (int i = 0; i < CELLS; i++)
        sum += sums[i];
    printf("%d\n", sum);
    return 0;
}
