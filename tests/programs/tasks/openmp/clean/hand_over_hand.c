// The second lock is taken before the first one is given back: at every moment one of the two keeps the other task out.
//
// needs: openmp

#include <keirin.h>
#include <omp.h>

omp_lock_t first, second;
int node;
int seen[2];

int main(void)
{
    omp_init_lock(&first);
    omp_init_lock(&second);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("walk")
            {
                omp_set_lock(&first);
                seen[0] = node;
                omp_set_lock(&second);
                omp_unset_lock(&first);
                seen[1] = node;
                omp_unset_lock(&second);
            }
        }
#pragma omp task
        {
            omp_set_lock(&first);
            omp_set_lock(&second);
            node = 1;
            omp_unset_lock(&second);
            omp_unset_lock(&first);
        }
    }
    omp_destroy_lock(&first);
    omp_destroy_lock(&second);
    return 0;
}
