// The thread with number 1 prepares, or nobody if there is none; the barrier lets the others wait for it.
//
// needs: openmp
// prints: complete

#include <array>
#include <cstdio>
#include <omp.h>

double scale;
std::array<double, 64> scaled;

int main()
{
#pragma omp parallel
    {
#pragma omp masked filter(1)
        scale = 0.5;
#pragma omp barrier
        scaled[omp_get_thread_num() % scaled.size()] = 2 * scale;
    }
    std::puts(scaled[0] == 2 * scale ? "complete" : "wrong");
}
