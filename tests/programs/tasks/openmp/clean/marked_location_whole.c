// A variable that must be whole in every step: each step touches it in one critical section only, or before there are
// tasks, or when all are done.
//
// needs: openmp
// prints: 12

#include <keirin.h>
#include <stdio.h>

int level;

int main(void)
{
    keirin_group(&level);
    level = 1;
    level = level + 1;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task
            {
#pragma omp critical(level)
                {
                    int seen = level;
                    level = seen + 3;
                }
            }
        }
#pragma omp taskwait
        level = level + 1;
    }
    printf("%d\n", level);
    return 0;
}
