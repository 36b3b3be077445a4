// Two teams within a team: the inner barrier orders the threads of one team only.
//
// needs: openmp
// expect: data-race (A) (B)

#include <omp.h>

int results[2];
int seen[2];

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int team = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 0)
                results[team] = team; // (A)
#pragma omp barrier
            if (omp_get_thread_num() == 1)
                seen[team] = results[1 - team]; // (B)
        }
    }
    return 0;
}
