// Calls in calls have their variables at equal distances on the stack. When their task is done, the next one has its own there.
//
// needs: openmp
// prints: 5050

#include <stdio.h>

__attribute__((noinline)) static int deeper(const int *above, int left)
{
    volatile char room[300];
    int mine = *above + 1;
    room[left] = 0;
    return left == 0 ? mine : deeper(&mine, left - 1) + room[left];
}

int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task shared(sum)
        {
            const int start = 0;
            const int depth = deeper(&start, 40 + i % 20);
#pragma omp atomic
            sum += depth;
        }
    }
    printf("%d\n", sum);
    return 0;
}
