// A value is written before a lock is taken and read by another thread after it has released the same lock. In the
// order that happens here the reader had the lock first, so that nothing orders the accesses.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int generation;
int readers;

static void *advance(void *unused)
{
    await_moment(1);
    generation = 1; // (A)
    pthread_mutex_lock(&lock);
    readers++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *look(void *result)
{
    pthread_mutex_lock(&lock);
    readers++;
    pthread_mutex_unlock(&lock);
    moment_reached(1);
    *(int *)result = generation; // (B)
    return result;
}

int main(void)
{
    pthread_t threads[2];
    int seen = 0;
    pthread_create(&threads[0], NULL, advance, NULL);
    pthread_create(&threads[1], NULL, look, &seen);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return seen > 1;
}
