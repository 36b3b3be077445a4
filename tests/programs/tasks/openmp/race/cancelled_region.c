// Whoever finds something writes it down and ends the search. Two may find something before either has ended it.
//
// needs: openmp
// env: OMP_CANCELLATION=true
// expect: data-race (A) (A) of found

#include <omp.h>

int found;

int main(void)
{
#pragma omp parallel
    {
        found = omp_get_thread_num(); // (A)
#pragma omp cancel parallel
    }
    return 0;
}
