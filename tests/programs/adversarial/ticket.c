// A number is drawn from an atomic counter in two steps, since the lock that made them one was removed.
//
// run: --analysis velodrome
// expect: atomicity-violation draw

#include <keirin.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int next;

static void *draw(void *unused)
{
    for (int i = 0; i < 5; i++) {
        KEIRIN_ATOMIC("draw")
        {
            int number = atomic_load(&next);
            atomic_store(&next, number + 1);
        }
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, draw, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
