// What the programs of this folder have in common: pauses that mix threads, and a tear that is forced on demand.
//
// Nothing in here is watched, so that a trace holds only what the program itself is about.
//
//     PROGRAM SEED          a workload, other pauses for another seed; good in most schedules
//     PROGRAM SEED tear     the same, and once a thread is held where another must not come in between
//     PROGRAM SEED work N   N times as many requests without pauses, to measure time; whether it is good is not looked at
//
// The last line of the output says `good` or `bad`, and the exit status is 0 or 1.
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "../support/schedule.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned workload_seed;
static int workload_factor = 1;
static int workload_tears;
static int workload_torn;
static int workload_bad;
static __thread unsigned workload_random;

NOT_WATCHED static void workload_start(int argc, char **argv)
{
    workload_seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    workload_tears = argc > 2 && strcmp(argv[2], "tear") == 0;
    if (argc > 3 && strcmp(argv[2], "work") == 0)
        workload_factor = atoi(argv[3]);
    workload_random = workload_seed * 2654435761u + 1;
}

// How many requests there are instead of the usual number.
NOT_WATCHED static int times(int usual)
{
    return usual * workload_factor;
}

NOT_WATCHED static unsigned random_below(unsigned limit)
{
    workload_random = workload_random * 1664525u + 1013904223u;
    return (workload_random >> 8) % limit;
}

// The pauses of each thread are its own.
NOT_WATCHED static void thread_start(int number)
{
    workload_random = (workload_seed * 64 + (unsigned)number + 1) * 2654435761u;
    random_below(1);
}

// Between two requests other threads have their turn.
NOT_WATCHED static void pause_a_while(void)
{
    struct timespec pause = {0, 1000 + (long)random_below(160000)};
    if (workload_factor == 1)
        nanosleep(&pause, NULL);
}

// In the midst of what should be whole: with `tear`, the first who comes here waits until the other is through.
NOT_WATCHED static void tear_here(void)
{
    if (workload_tears && !__atomic_exchange_n(&workload_torn, 1, __ATOMIC_SEQ_CST)) {
        moment_reached(1);
        await_moment(2);
    }
}

// Who is to come in between, before and after what he does there.
NOT_WATCHED static void tear_begins(void)
{
    if (workload_tears && moment_now < 2)
        await_moment(1);
}

NOT_WATCHED static void tear_ends(void)
{
    if (workload_tears && moment_now == 1)
        moment_reached(2);
}

// A check has failed.
NOT_WATCHED static void is_bad(const char *what)
{
    if (workload_factor == 1 && !__atomic_exchange_n(&workload_bad, 1, __ATOMIC_SEQ_CST))
        printf("%s\n", what);
}

NOT_WATCHED static int workload_end(void)
{
    printf("%s\n", workload_bad ? "bad" : "good");
    return workload_bad;
}

NOT_WATCHED static void run_threads(int count, void *(*thread)(void *))
{
    pthread_t threads[16];
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, thread, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

#endif
