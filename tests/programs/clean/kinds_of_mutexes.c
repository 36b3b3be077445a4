// Recursive, error-checking, timed and tried: whichever way a mutex is taken, it protects.
//
// prints: 800

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock;
int steps;

static void step_within_a_step(void)
{
    pthread_mutex_lock(&lock);
    steps++;
    pthread_mutex_unlock(&lock);
}

static void *take_steps(void *unused)
{
    for (int i = 0; i < 100; i++) {
        switch (i % 3) {
        case 0: pthread_mutex_lock(&lock); break;
        case 1:
            while (pthread_mutex_trylock(&lock) == EBUSY) {
            }
            break;
        default: {
            struct timespec until;
            do {
                clock_gettime(CLOCK_REALTIME, &until);
                until.tv_sec += 1;
            } while (pthread_mutex_timedlock(&lock, &until) == ETIMEDOUT);
        }
        }
        step_within_a_step();
        steps++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, take_steps, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", steps);
    pthread_mutex_destroy(&lock);
    pthread_mutexattr_destroy(&attributes);
    return 0;
}
