// Tasks that come one after the other on a thread have their variables in the same place of its stack, and hand them on to
// children of their own.
//
// needs: openmp
// prints: 200

#include <stdio.h>

enum { TASKS = 200 };

int counts[TASKS];

static void work(int number)
{
    int local[32];
    for (int i = 0; i < 32; i++)
        local[i] = number + i;
#pragma omp task shared(local)
    local[0]++;
#pragma omp task shared(local)
    local[1]++;
#pragma omp taskwait
    counts[number] = local[1] - local[0];
}

int main(void)
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
            work(i);
        }
    }
    for (int i = 0; i < TASKS; i++)
        sum += counts[i];
    printf("%d\n", sum);
    return 0;
}
