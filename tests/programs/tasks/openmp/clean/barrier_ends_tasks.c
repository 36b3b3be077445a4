// Explicit tasks are complete at the next barrier of the team, whoever made them, with all that they have made.
//
// needs: openmp
// prints: complete

#include <omp.h>
#include <stdio.h>

enum { MOST = 64 };

int cells[MOST];
int sums[MOST];

int main(void)
{
#pragma omp parallel
    {
        int mine = omp_get_thread_num() % MOST, next = (mine + 1) % omp_get_num_threads() % MOST;
#pragma omp task
        {
#pragma omp task
            cells[mine] = 5;
        }
#pragma omp barrier
        sums[mine] = cells[mine] + cells[next];
    }
    puts(sums[0] == 10 ? "complete" : "wrong");
    return 0;
}
