// The block adds to a location in each turn of a loop: it reads and writes it again and again, and the other task can set it to zero
// in between. Built with --lean all that is told at once, at a distance of zero, and must still be more than one access.
//
// needs: openmp
// expect: data-race (A) (B) of sum
// expect: atomicity-violation add

#include <keirin.h>

long sum;
long numbers[16];

// With a step of zero all is added to one location, which the compiler does not know.
__attribute__((noinline)) static void add(long *to, long step, const long *from, long count)
{
    KEIRIN_ATOMIC("add")
    {
        for (long i = 0; i < count; i++)
            to[i * step] += from[i]; // (A)
    }
}

long step;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        add(&sum, step, numbers, 16);
#pragma omp task
        sum = 0; // (B)
    }
    return 0;
}
