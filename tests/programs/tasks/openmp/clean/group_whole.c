// Two variables that belong together are always changed and read together, under one lock.
//
// needs: openmp

#include <keirin.h>
#include <omp.h>

omp_lock_t lock;
int length, width;
int area;

int main(void)
{
    keirin_group(&length, &width);
    omp_init_lock(&lock);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            omp_set_lock(&lock);
            length = 4;
            width = 5;
            omp_unset_lock(&lock);
        }
#pragma omp task
        {
            omp_set_lock(&lock);
            area = length * width;
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    return 0;
}
