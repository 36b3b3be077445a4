// The tasks that a thread creates in its chunks of a loop are its children: a taskwait after the loop waits for all of them.
//
// needs: openmp
// prints: 120

#include <stdio.h>

enum { CELLS = 16 };

int cells[CELLS];
int total;

int main(void)
{
#pragma omp parallel
    {
        volatile int mine[CELLS];
        int got = 0;
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < CELLS; i++) {
            mine[got++] = i;
#pragma omp task
            cells[i] = i;
        }
#pragma omp taskwait
        for (int i = 0; i < got; i++) {
#pragma omp critical
            total += cells[mine[i]];
        }
    }
    printf("%d\n", total);
    return 0;
}
