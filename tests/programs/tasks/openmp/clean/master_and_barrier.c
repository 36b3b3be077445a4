// The master construct with the barriers that it does not have by itself.
//
// needs: openmp
// prints: complete

#include <omp.h>
#include <stdio.h>

enum { MOST = 64 };

int options;
int copies[MOST];

int main(void)
{
#pragma omp parallel
    {
#pragma omp master
        options = 3;
#pragma omp barrier
        copies[omp_get_thread_num() % MOST] = options;
#pragma omp barrier
#pragma omp master
        options = 4;
    }
    puts(copies[0] == 3 && options == 4 ? "complete" : "wrong");
    return 0;
}
