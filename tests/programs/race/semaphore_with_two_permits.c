// A semaphore is meant as a lock but starts with two permits.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t permits;
int open_files;

static void *open_file(void *unused)
{
    sem_wait(&permits);
    moment_reached(1);
    await_moment(2);
    open_files++; // (A)
    sem_post(&permits);
    return unused;
}

static void *close_file(void *unused)
{
    await_moment(1);
    sem_wait(&permits);
    open_files--; // (B)
    moment_reached(2);
    await_moment(3);
    sem_post(&permits);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&permits, 0, 2);
    pthread_create(&threads[0], NULL, open_file, NULL);
    pthread_create(&threads[1], NULL, close_file, NULL);
    pthread_join(threads[0], NULL);
    moment_reached(3);
    pthread_join(threads[1], NULL);
    sem_destroy(&permits);
    return open_files;
}
