// A taskloop waits for its tasks; with nogroup somebody else does.
//
// needs: openmp
// prints: 56 84

#include <stdio.h>

enum { CELLS = 8 };

int squares[CELLS], sums[CELLS];

int main(void)
{
    int first = 0, second = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(2)
        for (int i = 0; i < CELLS; i++)
            squares[i] = i * i;
        for (int i = 0; i < CELLS - 1; i++)
            first += i * (i + 1) / 2;
#pragma omp taskloop nogroup num_tasks(4)
        for (int i = 0; i < CELLS; i++)
            sums[i] = squares[i] - i * (i - 1) / 2;
#pragma omp taskwait
        for (int i = 0; i < CELLS; i++)
            second += sums[i];
    }
    printf("%d %d\n", first, second);
    return 0;
}
