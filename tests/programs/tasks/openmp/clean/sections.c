// Sections work on different things, and all wait at the end of the construct.
//
// needs: openmp
// prints: 6 6

#include <stdio.h>

int first, second, third;
int sums[2];

int main(void)
{
#pragma omp parallel
    {
#pragma omp sections
        {
#pragma omp section
            first = 1;
#pragma omp section
            second = 2;
#pragma omp section
            third = 3;
        }
#pragma omp sections
        {
#pragma omp section
            sums[0] = first + second + third;
#pragma omp section
            sums[1] = first * second * third;
        }
    }
    printf("%d %d\n", sums[0], sums[1]);
    return 0;
}
