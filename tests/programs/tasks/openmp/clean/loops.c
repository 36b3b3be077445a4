// Loops of all schedules, each iteration on its own element; behind each loop is a barrier.
//
// needs: openmp
// prints: 4096

#include <stdio.h>

enum { CELLS = 64 };

int a[CELLS], b[CELLS];

int main(void)
{
    int sum = 0, last = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < CELLS; i++)
            a[i] = i;
#pragma omp for schedule(static, 3)
        for (int i = 0; i < CELLS; i++)
            b[i] = a[CELLS - 1 - i];
#pragma omp for schedule(dynamic)
        for (int i = 0; i < CELLS; i++)
            a[i] = b[CELLS - 1 - i];
#pragma omp for schedule(dynamic, 5)
        for (int i = 0; i < CELLS; i++)
            b[i] = a[CELLS - 1 - i];
#pragma omp for schedule(guided)
        for (int i = 0; i < CELLS; i++)
            a[i] = b[i] + i;
#pragma omp for schedule(auto) lastprivate(last)
        for (int i = 0; i < CELLS; i++) {
            b[i] = a[CELLS - 1 - i];
            last = i + 1;
        }
    }
    for (int i = 0; i < CELLS; i++)
        sum += b[i] + 1;
    printf("%d\n", last == CELLS ? sum : 0);
    return 0;
}
