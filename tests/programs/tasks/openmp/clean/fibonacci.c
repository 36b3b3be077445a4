// The usual recursion: results come back through variables on the stack of the parent, which waits. The stack below is
// used again and again by other tasks.
//
// needs: openmp
// prints: 377

#include <stdio.h>

static long fibonacci(int n)
{
    if (n < 2)
        return n;
    long first, second;
#pragma omp task shared(first)
    first = fibonacci(n - 1);
#pragma omp task shared(second)
    second = fibonacci(n - 2);
#pragma omp taskwait
    return first + second;
}

int main(void)
{
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fibonacci(14);
    printf("%ld\n", result);
    return 0;
}
