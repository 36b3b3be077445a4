// Each iteration waits for the one before it, and for no more than that.
//
// needs: openmp
// prints: 610

#include <stdio.h>

enum { CELLS = 15 };

int cells[CELLS];

int main(void)
{
    cells[0] = cells[1] = 1;
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(2)
    for (int i = 2; i < CELLS; i++) {
#pragma omp ordered depend(sink : i - 1)
        cells[i] = cells[i - 1] + cells[i - 2];
#pragma omp ordered depend(source)
    }
    printf("%d\n", cells[CELLS - 1]);
    return 0;
}
