// A counter without any lock: the data race is also an atomicity violation of the block that counts.
//
// run: --analysis fasttrack,velodrome
// expect: data-race (A) (B)
// expect: atomicity-violation increment
// prints: 1

#include "schedule.h"
#include <keirin.h>
#include <pthread.h>
#include <stdio.h>

volatile int hits;

static void *count_slowly(void *unused)
{
    KEIRIN_ATOMIC("increment")
    {
        int seen = hits; // (A)
        moment_reached(1);
        await_moment(2);
        hits = seen + 1;
    }
    return unused;
}

static void *count(void *unused)
{
    await_moment(1);
    hits = 1; // (B)
    moment_reached(2);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, count_slowly, NULL);
    pthread_create(&threads[1], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", hits);
    return 0;
}
