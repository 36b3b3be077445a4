// A producer tells by a plain flag that a message is ready. `volatile` keeps the loop alive but orders nothing, so that
// both the flag and the message race.
//
// expect: data-race (A) (B)
// expect: data-race (C) (D)
// prints: 42

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

int message;
volatile int ready;

static void *produce(void *unused)
{
    message = 42; // (A)
    ready = 1; // (C)
    return unused;
}

int main(void)
{
    pthread_t producer;
    pthread_create(&producer, NULL, produce, NULL);
    while (!ready) // (D)
        sched_yield();
    printf("%d\n", message); // (B)
    pthread_join(producer, NULL);
    return 0;
}
