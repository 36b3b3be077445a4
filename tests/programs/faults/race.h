// One data race, found for certain, and what the programs of this folder have in common: each does one thing, named by
// its first argument.
#ifndef RACE_H
#define RACE_H

#include "schedule.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int shared;

static void *write_first(void *unused)
{
    shared = 1;
    moment_reached(moment_now + 1);
    return unused;
}

// Returns when the race has happened and the thread is gone.
__attribute__((unused)) static void race(void)
{
    pthread_t thread;
    int before = moment_now;
    if (pthread_create(&thread, NULL, write_first, NULL)) {
        perror("pthread_create");
        exit(99);
    }
    await_moment(before + 1);
    shared = 2;
    pthread_join(thread, NULL);
}

__attribute__((unused)) static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        abort();
}

#define CASE(name) if (argc > 1 && !strcmp(argv[1], name))

#endif
