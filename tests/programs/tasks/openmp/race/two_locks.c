// Each task takes a lock, but not the same one.
//
// needs: openmp
// expect: data-race (A) (B) of bytes

#include <omp.h>

omp_lock_t input_lock;
omp_lock_t output_lock;
unsigned long bytes;

int main(void)
{
    omp_init_lock(&input_lock);
    omp_init_lock(&output_lock);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            omp_set_lock(&input_lock);
            bytes += 512; // (A)
            omp_unset_lock(&input_lock);
        }
#pragma omp task
        {
            omp_set_lock(&output_lock);
            bytes += 64; // (B)
            omp_unset_lock(&output_lock);
        }
    }
    omp_destroy_lock(&input_lock);
    omp_destroy_lock(&output_lock);
    return 0;
}
