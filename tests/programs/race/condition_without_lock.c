// The waiter does everything right, but the other thread changes the condition without holding the mutex.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
bool done;

static void *finish(void *unused)
{
    await_moment(1);
    done = true; // (A)
    // Taking the lock only to notify makes sure that the waiter is not missed; it comes too late for the write.
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t finisher;
    pthread_create(&finisher, NULL, finish, NULL);
    pthread_mutex_lock(&lock);
    bool first_look = done; // (B)
    moment_reached(1);
    while (!done)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(finisher, NULL);
    return first_look;
}
