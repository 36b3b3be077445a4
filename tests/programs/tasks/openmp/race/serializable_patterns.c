// Pairs of accesses with a read of another task between them that could as well have come before or after both. Without
// locks they are races. The blocks are whole nevertheless: no order of the accesses tears them.
//
// needs: openmp
// expect: data-race (A) (B) of read_write
// expect: data-race (C) (D) of write_read

#include <keirin.h>

volatile int read_read;
volatile int read_write;
volatile int write_read;
int seen[4];

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("read, read")
            {
                seen[0] = read_read + read_read;
            }
            KEIRIN_ATOMIC("read, write")
            {
                read_write = read_write + 1; // (A)
            }
            KEIRIN_ATOMIC("write, read")
            {
                write_read = 1, seen[1] = write_read; // (C)
            }
        }
#pragma omp task
        {
            seen[2] = read_read;
            seen[2] += read_write; // (B)
            seen[3] = write_read; // (D)
        }
    }
    return 0;
}
