// The end of a taskgroup waits for grandchildren and their children as well.
//
// needs: openmp
// prints: 6

#include <stdio.h>

int child, grandchild, deepest;
int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                {
#pragma omp task
                    deepest = 1;
                    grandchild = 2;
                }
                child = 3;
            }
        }
        sum = child + grandchild + deepest;
    }
    printf("%d\n", sum);
    return 0;
}
