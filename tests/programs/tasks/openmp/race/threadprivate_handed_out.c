// Each thread has a variable of its own, but one of them lets the others know where its copy is.
//
// needs: openmp
// expect: data-race (A) (B)

#include <omp.h>

int own;
#pragma omp threadprivate(own)
int *address;
int copies[2];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp masked
        address = &own;
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            own = 5; // (A)
        else
            copies[1] = *address; // (B)
    }
    return 0;
}
