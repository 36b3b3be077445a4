// Threads that end by pthread_exit, deep in a call; what they did is seen by who joins them. Main ends that way as well,
// so that the last thread ends the program. A detector that has a thread of its own must not keep it alive.
//
// prints: 6

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int results[3];
static pthread_t workers[3];

static void deliver(intptr_t index)
{
    results[index] = (int)index + 1;
    pthread_exit((void *)index);
}

static void *work(void *argument)
{
    deliver((intptr_t)argument);
    return NULL;
}

static void *collect(void *unused)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(workers[i], NULL);
        sum += results[i];
    }
    printf("%d\n", sum);
    return unused;
}

int main(void)
{
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    pthread_t collector;
    pthread_create(&collector, NULL, collect, NULL);
    pthread_detach(collector);
    pthread_exit(NULL);
}
