// Tasks that are made within a final task are done at once: it need not wait for them.
//
// needs: openmp
// prints: 12

#include <stdio.h>

static int leaves(int depth)
{
    if (depth == 0)
        return 1;
    int left = 0, right = 0;
#pragma omp task shared(left)
    left = leaves(depth - 1);
#pragma omp task shared(right)
    right = leaves(depth - 1);
    // Within a final task both are done by now.
    return left + right;
}

int main(void)
{
    int small = 0, large = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task final(1) shared(small)
        small = leaves(2);
#pragma omp task final(1) shared(large)
        large = leaves(3);
#pragma omp taskwait
        large += small;
    }
    printf("%d\n", large);
    return 0;
}
