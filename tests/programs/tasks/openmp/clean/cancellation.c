// A loop and a taskgroup are cancelled. What was found is written atomically, and read when all have come to the end.
//
// needs: openmp
// env: OMP_CANCELLATION=true
// prints: found

#include <omp.h>
#include <stdio.h>

enum { VALUES = 100 };

int values[VALUES];
int in_loop = -1, in_tasks = -1;
int looked_at[VALUES];

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        values[i] = i;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < VALUES; i++) {
            looked_at[i] = 1;
            if (values[i] == 50) {
#pragma omp atomic write
                in_loop = i;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
#pragma omp single
        {
#pragma omp taskgroup
            {
                for (int i = 0; i < VALUES; i++) {
#pragma omp task firstprivate(i)
                    {
                        looked_at[i]++;
                        if (values[i] == 0) {
#pragma omp atomic write
                            in_tasks = i;
#pragma omp cancel taskgroup
                        }
                    }
                }
            }
            looked_at[0] += in_tasks;
        }
    }
    puts(in_loop == 50 && in_tasks <= 0 ? "found" : "missed");
    return 0;
}
