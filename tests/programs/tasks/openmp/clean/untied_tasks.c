// Untied tasks, which may change the thread at each task construct, with children of their own.
//
// needs: openmp
// prints: 45

#include <stdio.h>

enum { TASKS = 10 };

int parts[TASKS];

int main(void)
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < TASKS; i++) {
#pragma omp task untied firstprivate(i)
            {
                int mine = 0;
#pragma omp task untied shared(mine)
                mine = i;
#pragma omp taskyield
#pragma omp taskwait
                parts[i] = mine;
            }
        }
#pragma omp taskwait
        for (int i = 0; i < TASKS; i++)
            sum += parts[i];
    }
    printf("%d\n", sum);
    return 0;
}
