// The five patterns that no serial order explains. The block holds its lock from the first to the last access, but the
// other task takes another lock: a race, and torn.
//
// needs: openmp
// expect: data-race (A) (B) of read_read
// expect: data-race (C) (D) of read_write
// expect: data-race (E) (F) of write_read
// expect: data-race (G) (H) of write_write
// expect: data-race (I) (J) of written_twice
// expect: atomicity-violation R-W-R
// expect: atomicity-violation R-W-W
// expect: atomicity-violation W-W-R
// expect: atomicity-violation W-W-W
// expect: atomicity-violation W-R-W

#include <keirin.h>

volatile int read_read, read_write, write_read, write_write, written_twice;
int seen[3];
int copied;

static void pairs(void)
{
    KEIRIN_ATOMIC("R-W-R")
    {
#pragma omp critical(mine)
        seen[0] = read_read + read_read; // (A)
    }
    KEIRIN_ATOMIC("R-W-W")
    {
#pragma omp critical(mine)
        seen[1] = read_write, read_write = seen[1] + 1; // (C)
    }
    KEIRIN_ATOMIC("W-W-R")
    {
#pragma omp critical(mine)
        write_read = 1, seen[2] = write_read; // (E)
    }
    KEIRIN_ATOMIC("W-W-W")
    {
#pragma omp critical(mine)
        write_write = 1, write_write = 2; // (G)
    }
    KEIRIN_ATOMIC("W-R-W")
    {
#pragma omp critical(mine)
        written_twice = 1, written_twice = 2; // (I)
    }
}

static void others(void)
{
#pragma omp critical(theirs)
    read_read = 5; // (B)
#pragma omp critical(theirs)
    read_write = 5; // (D)
#pragma omp critical(theirs)
    write_read = 5; // (F)
#pragma omp critical(theirs)
    write_write = 5; // (H)
#pragma omp critical(theirs)
    copied = written_twice; // (J)
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
