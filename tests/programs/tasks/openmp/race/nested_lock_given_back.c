// A lock that was taken twice is held until it is given back twice. Here that was done before the last access.
//
// needs: openmp
// expect: data-race (A) (A) of closed

#include <omp.h>

omp_nest_lock_t lock;
int opened;
int closed;

int main(void)
{
    omp_init_nest_lock(&lock);
#pragma omp parallel
    {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        opened++;
        omp_unset_nest_lock(&lock);
        closed++; // (A)
    }
    omp_destroy_nest_lock(&lock);
    return 0;
}
