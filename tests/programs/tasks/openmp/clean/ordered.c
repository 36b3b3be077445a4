// The ordered parts of a loop come one after the other, in the order of the iterations.
//
// needs: openmp
// prints: 0 1 3 6 10 15 21 28

#include <keirin.h>
#include <stdio.h>

int position;

int main(void)
{
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 8; i++) {
#pragma omp ordered
        KEIRIN_ATOMIC("advance")
        {
            position += i;
            printf(i < 7 ? "%d " : "%d\n", position);
        }
    }
    return 0;
}
