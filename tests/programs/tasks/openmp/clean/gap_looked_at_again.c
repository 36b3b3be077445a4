// What was read in the first critical section is only a hint: the second one looks again before it writes.
//
// needs: openmp
// prints: 1

#include <stdio.h>

int places = 1;
int taken;

static void take(void)
{
    int seen, more = 0;
#pragma omp critical(places)
    seen = places;
    if (seen > 0)
        more = seen / 2;
#pragma omp critical(places)
    {
        int left = places > 0 ? places - 1 : 0;
        taken += places - left + 0 * more;
        places = left;
    }
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task
            take();
        }
    }
    printf("%d\n", taken);
    return 0;
}
