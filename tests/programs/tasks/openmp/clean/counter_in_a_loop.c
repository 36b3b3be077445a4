// A task adds to a locked counter again and again. Others come in between, and that does no harm.
//
// needs: openmp
// prints: 40

#include <stdio.h>

int count;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int task = 0; task < 4; task++) {
#pragma omp task
            for (int i = 0; i < 10; i++) {
#pragma omp critical(count)
                count++;
            }
        }
    }
    printf("%d\n", count);
    return 0;
}
