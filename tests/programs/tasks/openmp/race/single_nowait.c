// One thread sets the limit, and with nowait the others do not wait for it.
//
// needs: openmp
// expect: data-race (A) (B) of limit

#include <omp.h>

enum { MOST = 64 };

int limit;
int copies[MOST];

int main(void)
{
#pragma omp parallel
    {
#pragma omp single nowait
        limit = 10; // (A)
        copies[omp_get_thread_num() % MOST] = limit; // (B)
    }
    return 0;
}
