// Undeferred tasks run on the stack of their parent, just below its variables; the parent calls other functions there
// before and after, and deferred tasks of other threads run meanwhile.
//
// needs: openmp
// prints: 4000

#include <stdio.h>

int total;

static int filled(int with)
{
    volatile int room[24];
    for (int i = 0; i < 24; i++)
        room[i] = with;
    return room[with % 24] - with + 1;
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 100; i++) {
            int mine = 0;
#pragma omp task
            {
                int other = filled(3) * 37;
#pragma omp atomic
                total += other;
            }
            mine += filled(i);
#pragma omp task if (0) shared(mine)
            mine += filled(i + 1);
            mine += filled(i + 2);
#pragma omp atomic
            total += mine;
        }
    }
    printf("%d\n", total);
    return 0;
}
