// Two tasks go through the same array in loops, the one through the even elements, the other one through the odd ones, backwards; two more
// through the columns of a matrix. No byte is shared, though the stretches of memory from first to last are.
//
// needs: openmp
// prints: 248 36

#include <stdio.h>

long numbers[16];
int matrix[8][3];

static void fill(long first, long last, long step)
{
    if (step > 0)
        for (long i = first; i <= last; i += step)
            numbers[i] = i * 2;
    else
        for (long i = first; i >= last; i += step)
            numbers[i] = i * 2 + 1;
}

static void columns(long from, long to, long rows)
{
    for (long column = from; column < to; column++)
        for (long row = 0; row < rows; row++)
            matrix[row][column] += column + (int)(row % 2);
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        fill(0, 14, 2);
#pragma omp task
        fill(15, 1, -2);
#pragma omp task
        columns(0, 1, 8);
#pragma omp task
        columns(1, 3, 8);
    }
    long sum = 0;
    int all = 0;
    for (long i = 0; i < 16; i++)
        sum += numbers[i];
    for (long row = 0; row < 8; row++)
        for (long column = 0; column < 3; column++)
            all += matrix[row][column];
    printf("%ld %d\n", sum, all);
    return 0;
}
