// Atomic operations of all kinds; they order nothing else, and nothing else needs to be.
//
// needs: openmp
// prints: 10 45 4

#include <stdio.h>

int count, sum, slots[10];
int latest;

int main(void)
{
    int used = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task firstprivate(i)
            {
                int mine;
#pragma omp atomic capture
                mine = count++;
                slots[mine] = 1;
#pragma omp atomic
                sum += i;
#pragma omp atomic write
                latest = 4;
            }
        }
#pragma omp taskwait
        for (int i = 0; i < 10; i++)
            used += slots[i];
    }
    int last;
#pragma omp atomic read
    last = latest;
    printf("%d %d %d\n", used, sum, last);
    return 0;
}
