// Phases: every thread reads what its neighbour wrote before the barrier, and nobody writes before all have read.
//
// needs: openmp
// prints: complete

#include <omp.h>
#include <stdio.h>

enum { MOST = 64, PHASES = 6 };

int cells[2][MOST];
int threads;

int main(void)
{
#pragma omp parallel
    {
        int mine = omp_get_thread_num() % MOST, next = (mine + 1) % omp_get_num_threads() % MOST;
#pragma omp single
        threads = omp_get_num_threads();
        cells[0][mine] = 1;
        for (int phase = 0; phase < PHASES; phase++) {
#pragma omp barrier
            const int *from = cells[phase % 2];
            cells[(phase + 1) % 2][mine] = from[mine] + from[next];
        }
    }
    puts(threads > 0 && cells[PHASES % 2][0] == 64 ? "complete" : "wrong");
    return 0;
}
