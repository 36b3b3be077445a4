// The first task holds the lock while it writes. The second one tries to get it and writes in any case.
//
// needs: openmp
// expect: data-race (A) (B) of entry

#include <omp.h>

omp_lock_t lock;
int entry;

int main(void)
{
    omp_init_lock(&lock);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            omp_set_lock(&lock);
            entry = 1; // (A)
            omp_unset_lock(&lock);
        }
#pragma omp task
        {
            if (omp_test_lock(&lock))
                omp_unset_lock(&lock);
            entry = 2; // (B)
        }
    }
    omp_destroy_lock(&lock);
    return 0;
}
