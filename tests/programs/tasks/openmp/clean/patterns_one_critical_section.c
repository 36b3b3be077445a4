// Every pair of accesses that another task could tear, with both accesses in one critical section.
//
// needs: openmp

#include <keirin.h>

volatile int read_read, read_write, write_read, write_write, written_twice;
int seen[4];

static void pairs(void)
{
    KEIRIN_ATOMIC("read, read")
    {
#pragma omp critical(pattern)
        {
            seen[0] = read_read;
            seen[1] = read_read;
        }
    }
    KEIRIN_ATOMIC("read, write")
    {
#pragma omp critical(pattern)
        {
            seen[2] = read_write;
            read_write = seen[2] + 1;
        }
    }
    KEIRIN_ATOMIC("write, read")
    {
#pragma omp critical(pattern)
        {
            write_read = 1;
            seen[3] = write_read;
        }
    }
    KEIRIN_ATOMIC("write, write")
    {
#pragma omp critical(pattern)
        {
            write_write = 1;
            write_write = 2;
        }
    }
    KEIRIN_ATOMIC("written twice, and read between")
    {
#pragma omp critical(pattern)
        {
            written_twice = 1;
            written_twice = 2;
        }
    }
}

static int others(void)
{
    int copy;
#pragma omp critical(pattern)
    read_read = 5;
#pragma omp critical(pattern)
    read_write = 5;
#pragma omp critical(pattern)
    write_read = 5;
#pragma omp critical(pattern)
    write_write = 5;
#pragma omp critical(pattern)
    copy = written_twice;
    return copy;
}

int copied;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        pairs();
#pragma omp task
        copied = others();
    }
    return 0;
}
