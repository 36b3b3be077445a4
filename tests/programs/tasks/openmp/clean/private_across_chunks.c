// Chunks of a dynamic loop are parallel to each other, but those that one thread gets share its private variables.
//
// needs: openmp
// prints: 2016 64

#include <stdio.h>

enum { ITERATIONS = 64 };

int total, iterations;

static void add(volatile int *sum, int value)
{
    *sum += value;
}

int main(void)
{
#pragma omp parallel reduction(+ : iterations)
    {
        volatile int mine[2] = {0, 0};
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < ITERATIONS; i++) {
            volatile int value = i;
            add(&mine[i % 2], value);
            iterations++;
        }
#pragma omp critical
        total += mine[0] + mine[1];
    }
    printf("%d %d\n", total, iterations);
    return 0;
}
