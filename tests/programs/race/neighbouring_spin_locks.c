// Two small locks lie side by side in one machine word. They are two locks all the same: a variable that one thread
// protects by the first and the other by the second is not protected.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <pthread.h>

static struct {
    pthread_spinlock_t left, right;
} locks __attribute__((aligned(8)));
int shared;

static void *use_left(void *unused)
{
    pthread_spin_lock(&locks.left);
    shared = 1; // (A)
    pthread_spin_unlock(&locks.left);
    moment_reached(1);
    return unused;
}

static void *use_right(void *unused)
{
    await_moment(1);
    pthread_spin_lock(&locks.right);
    shared = 2; // (B)
    pthread_spin_unlock(&locks.right);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_spin_init(&locks.left, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&locks.right, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&threads[0], NULL, use_left, NULL);
    pthread_create(&threads[1], NULL, use_right, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
