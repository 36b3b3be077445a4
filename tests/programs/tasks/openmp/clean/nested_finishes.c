// Scopes in each other, and a taskwait in each task: whatever is read was written by somebody who was waited for.
//
// needs: openmp
// prints: 31

#include <stdio.h>

int left, right, inner, outer, after;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp taskgroup
                {
#pragma omp task
                    left = 1;
#pragma omp task
                    right = 2;
                }
                inner = left + right;
#pragma omp task
                inner += 4;
#pragma omp taskwait
                left = inner;
            }
#pragma omp task
            outer = 8;
        }
        after = left + outer;
#pragma omp task
        after += 16;
#pragma omp taskwait
    }
    printf("%d\n", after);
    return 0;
}
