// The five patterns that no serial order explains, with each access in a critical section of its own: no race is left, and
// every block is torn all the same.
//
// needs: openmp
// expect: atomicity-violation R-W-R
// expect: atomicity-violation R-W-W
// expect: atomicity-violation W-W-R
// expect: atomicity-violation W-W-W
// expect: atomicity-violation W-R-W

#include <keirin.h>

int read_read, read_write, write_read, write_write, written_twice;
int seen[4];
int copied;

static void pairs(void)
{
    KEIRIN_ATOMIC("R-W-R")
    {
#pragma omp critical(pattern)
        seen[0] = read_read;
#pragma omp critical(pattern)
        seen[1] = read_read;
    }
    KEIRIN_ATOMIC("R-W-W")
    {
#pragma omp critical(pattern)
        seen[2] = read_write;
#pragma omp critical(pattern)
        read_write = seen[2] + 1;
    }
    KEIRIN_ATOMIC("W-W-R")
    {
#pragma omp critical(pattern)
        write_read = 1;
#pragma omp critical(pattern)
        seen[3] = write_read;
    }
    KEIRIN_ATOMIC("W-W-W")
    {
#pragma omp critical(pattern)
        write_write = 1;
#pragma omp critical(pattern)
        write_write = 2;
    }
    KEIRIN_ATOMIC("W-R-W")
    {
#pragma omp critical(pattern)
        written_twice = 1;
#pragma omp critical(pattern)
        written_twice = 2;
    }
}

static void others(void)
{
#pragma omp critical(pattern)
    read_read = 5;
#pragma omp critical(pattern)
    read_write = 5;
#pragma omp critical(pattern)
    write_read = 5;
#pragma omp critical(pattern)
    write_write = 5;
#pragma omp critical(pattern)
    copied = written_twice;
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
