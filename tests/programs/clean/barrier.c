// Phases: every thread reads what its neighbours wrote before the barrier.
//
// prints: 256

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, PHASES = 6 };

static pthread_barrier_t barrier;
int cells[2][THREADS];

static void *simulate(void *argument)
{
    intptr_t mine = (intptr_t)argument;
    cells[0][mine] = 1;
    pthread_barrier_wait(&barrier);
    for (int phase = 0; phase < PHASES; phase++) {
        const int *from = cells[phase % 2];
        int sum = from[mine] + from[(mine + 1) % THREADS];
        cells[(phase + 1) % 2][mine] = sum;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, simulate, (void *)i);
    int sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += cells[PHASES % 2][i];
    }
    pthread_barrier_destroy(&barrier);
    printf("%d\n", sum);
    return 0;
}
