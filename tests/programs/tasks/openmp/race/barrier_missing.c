// Each thread reads what its neighbour writes, with no barrier between the two.
//
// needs: openmp
// expect: data-race (A) (B)

#include <omp.h>

enum { MOST = 64 };

int cells[MOST];
int sums[MOST];

int main(void)
{
#pragma omp parallel
    {
        int threads = omp_get_num_threads(), mine = omp_get_thread_num();
        cells[mine % MOST] = mine; // (A)
        sums[mine % MOST] = cells[(mine + 1) % threads % MOST]; // (B)
    }
    return 0;
}
