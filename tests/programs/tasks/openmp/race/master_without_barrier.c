// The master construct has no barrier, neither before nor behind it.
//
// needs: openmp
// expect: data-race (A) (B) of options

#include <omp.h>

enum { MOST = 64 };

int options;
int copies[MOST];

int main(void)
{
#pragma omp parallel
    {
#pragma omp master
        options = 3; // (A)
        copies[omp_get_thread_num() % MOST] = options; // (B)
    }
    return 0;
}
