// The thread with number 1 prepares what all others use at once: masked has no barrier.
//
// needs: openmp
// expect: data-race (A) (B) of scale

#include <array>
#include <omp.h>

double scale;
std::array<double, 64> scaled;

int main()
{
#pragma omp parallel
    {
#pragma omp masked filter(1)
        scale = 0.5; // (A)
        scaled[omp_get_thread_num() % scaled.size()] = scale; // (B)
    }
}
