// A thread is cancelled while it waits for a condition. Its clean-up handler runs with the mutex held and gives it back.
//
// prints: cleaned up

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int waiting, cleaned;

static void clean_up(void *unused)
{
    (void)unused;
    cleaned = 1;
    pthread_mutex_unlock(&lock);
}

static void *wait_in_vain(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean_up, NULL);
    waiting = 1;
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return unused;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_in_vain, NULL);
    for (int ready = 0; !ready;) {
        pthread_mutex_lock(&lock);
        ready = waiting;
        pthread_mutex_unlock(&lock);
    }
    pthread_cancel(waiter);
    void *result;
    pthread_join(waiter, &result);
    pthread_mutex_lock(&lock);
    puts(cleaned && result == PTHREAD_CANCELED ? "cleaned up" : "not cleaned up");
    pthread_mutex_unlock(&lock);
    return 0;
}
