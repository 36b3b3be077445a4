// Every thread has its own copy, also for tasks: two of them on one thread cannot meet, and on two threads they have two
// copies.
//
// needs: openmp
// prints: complete

#include <omp.h>
#include <stdio.h>

int own;
#pragma omp threadprivate(own)
int sum;

int main(void)
{
    int threads = 0;
    own = 3;
#pragma omp parallel copyin(own)
    {
#pragma omp master
        threads = omp_get_num_threads();
        own += 4;
#pragma omp barrier
#pragma omp single
        {
            for (int i = 0; i < 16; i++) {
#pragma omp task
                own++;
            }
        }
#pragma omp critical
        sum += own;
    }
    puts(sum == 7 * threads + 16 ? "complete" : "wrong");
    return 0;
}
