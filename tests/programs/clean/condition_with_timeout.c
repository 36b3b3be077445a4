// A waiter that also wakes up by itself: after a timeout it holds the mutex as well.
//
// prints: done

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
bool done;
int timeouts;

static void *work(void *unused)
{
    usleep(20000);
    pthread_mutex_lock(&lock);
    done = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *wait_for_it(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!done) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT)
            timeouts++;
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, work, NULL);
    for (int i = 1; i < 3; i++)
        pthread_create(&threads[i], NULL, wait_for_it, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    puts(done ? "done" : "not done");
    return 0;
}
