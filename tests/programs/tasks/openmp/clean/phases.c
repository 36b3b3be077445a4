// Phase after phase of tasks on the same memory, with a wait in between.
//
// needs: openmp
// prints: 800

#include <stdio.h>

enum { CELLS = 8, PHASES = 100 };

int cells[CELLS];

int main(void)
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int phase = 0; phase < PHASES; phase++) {
            for (int i = 0; i < CELLS; i++) {
#pragma omp task firstprivate(phase, i)
                cells[(i + phase) % CELLS]++;
            }
#pragma omp taskwait
        }
        for (int i = 0; i < CELLS; i++)
            sum += cells[i];
    }
    printf("%d\n", sum);
    return 0;
}
