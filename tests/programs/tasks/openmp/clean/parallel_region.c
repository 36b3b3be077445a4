// Fork and join: every thread has its own cell, and the parent reads them when the region has ended.
//
// needs: openmp
// prints: complete

#include <omp.h>
#include <stdio.h>

enum { MOST = 64 };

int cells[MOST];
int threads;

int main(void)
{
    for (int round = 1; round <= 10; round++) {
#pragma omp parallel
        {
            int mine = omp_get_thread_num();
            cells[mine % MOST] += round;
            if (mine == 0)
                threads = omp_get_num_threads();
        }
        for (int i = 0; i < threads; i++)
            cells[i]++;
    }
    puts(cells[0] == 65 && cells[threads - 1] == 65 ? "complete" : "wrong");
    return 0;
}
