// One thread prepares, the others wait at the end of the construct; or they are given a copy of what it has read.
//
// needs: openmp
// prints: complete

#include <omp.h>
#include <stdio.h>

enum { MOST = 64 };

int limit;
int copies[MOST];

int main(void)
{
#pragma omp parallel
    {
        int mine = omp_get_thread_num() % MOST, given;
#pragma omp single
        limit = 10;
        copies[mine] = limit;
#pragma omp barrier
#pragma omp single
        limit = 20;
        copies[mine] += limit;
#pragma omp single copyprivate(given)
        given = 12;
        copies[mine] += given;
    }
    puts(copies[0] == 42 ? "complete" : "wrong");
    return 0;
}
