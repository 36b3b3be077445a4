// Main waits for a detached thread only by the clock, which orders nothing.
//
// expect: data-race (A) (B)
// prints: done

#include "schedule.h"
#include <pthread.h>
#include <stdio.h>

const char *state = "working";

static void *work(void *unused)
{
    state = "done"; // (A)
    moment_reached(1);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_detach(worker);
    await_moment(1);
    puts(state); // (B)
    return 0;
}
