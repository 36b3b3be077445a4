// The block gives a nested lock back as often as it has taken it, and takes it again: others may come in between. The other
// block gives back only what was taken in it and holds the lock all the time.
//
// needs: openmp
// expect: atomicity-violation given back

#include <keirin.h>
#include <omp.h>

omp_nest_lock_t lock;
int torn, whole;
int seen[2];

static void read_twice(int *variable)
{
    for (int i = 0; i < 2; i++) {
        omp_set_nest_lock(&lock);
        seen[i] = *variable;
        omp_unset_nest_lock(&lock);
    }
}

int main(void)
{
    omp_init_nest_lock(&lock);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("given back")
            {
                read_twice(&torn);
            }
            omp_set_nest_lock(&lock);
            KEIRIN_ATOMIC("held")
            {
                read_twice(&whole);
            }
            omp_unset_nest_lock(&lock);
        }
#pragma omp task
        {
            omp_set_nest_lock(&lock);
            torn = 1;
            whole = 1;
            omp_unset_nest_lock(&lock);
        }
    }
    omp_destroy_nest_lock(&lock);
    return 0;
}
