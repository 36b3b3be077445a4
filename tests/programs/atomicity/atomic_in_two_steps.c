// An atomic variable is read and written back: there is no race, but the additions of others in between are lost.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation count_one
// prints: 1

#include "schedule.h"
#include <keirin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int counter;

static void *count_slowly(void *unused)
{
    KEIRIN_ATOMIC("count_one")
    {
        int seen = atomic_load(&counter);
        moment_reached(1);
        await_moment(2);
        atomic_store(&counter, seen + 1);
    }
    return unused;
}

static void *count_at_once(void *unused)
{
    await_moment(1);
    atomic_fetch_add(&counter, 1);
    moment_reached(2);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, count_slowly, NULL);
    pthread_create(&threads[1], NULL, count_at_once, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", atomic_load(&counter));
    return 0;
}
