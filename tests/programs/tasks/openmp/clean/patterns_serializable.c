// Pairs of accesses in two critical sections, with a read of another task between them that could as well have come
// before or after both: nothing is torn.
//
// needs: openmp

#include <keirin.h>

volatile int read_read, read_write, write_read;
int seen[6];

static void pairs(void)
{
    KEIRIN_ATOMIC("read, read")
    {
#pragma omp critical(pattern)
        seen[0] = read_read;
#pragma omp critical(pattern)
        seen[1] = read_read;
    }
    KEIRIN_ATOMIC("read, write")
    {
#pragma omp critical(pattern)
        seen[2] = read_write;
#pragma omp critical(pattern)
        read_write = 1;
    }
    KEIRIN_ATOMIC("write, read")
    {
#pragma omp critical(pattern)
        write_read = 1;
#pragma omp critical(pattern)
        seen[3] = write_read;
    }
}

static void others(void)
{
#pragma omp critical(pattern)
    seen[4] = read_read;
#pragma omp critical(pattern)
    seen[4] += read_write;
#pragma omp critical(pattern)
    seen[5] = write_read;
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        pairs();
#pragma omp task
        others();
    }
    return 0;
}
