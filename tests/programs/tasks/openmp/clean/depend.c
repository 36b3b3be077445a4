// Dependences: the writer before the readers, the readers before the next writer, and that one before the last reader.
//
// needs: openmp
// prints: 14

#include <stdio.h>

int value, first, second;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : value)
        value = 1;
#pragma omp task depend(in : value) depend(out : first)
        first = value;
#pragma omp task depend(in : value) depend(out : second)
        second = value + 1;
#pragma omp task depend(inout : value)
        value = 10;
#pragma omp task depend(in : first, second) depend(inout : value)
        value += 1 + first + second;
    }
    printf("%d\n", value);
    return 0;
}
