// The result of trylock is ignored: the thread goes on without the lock, which another one holds.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int jobs;

static void *add_job(void *unused)
{
    pthread_mutex_lock(&lock);
    moment_reached(1);
    await_moment(2);
    jobs++; // (A)
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *remove_job(void *unused)
{
    await_moment(1);
    pthread_mutex_trylock(&lock);
    jobs--; // (B)
    moment_reached(2);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, add_job, NULL);
    pthread_create(&threads[1], NULL, remove_job, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return jobs;
}
