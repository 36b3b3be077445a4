// Forces an order of steps without telling anybody.
//
// The steps of a program that must come in a certain order for the example to show anything wait for numbered moments.
// The functions are not instrumented and use no synchronization, so that neither a race detector nor an analysis of
// atomicity sees an order here, and nothing depends on sleeping long enough.
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <sched.h>

#define NOT_WATCHED __attribute__((no_sanitize("thread"), noinline, unused))

static volatile int moment_now;

NOT_WATCHED static void moment_reached(int moment)
{
    __asm__ volatile("" ::: "memory");
    moment_now = moment;
    __asm__ volatile("" ::: "memory");
}

NOT_WATCHED static void await_moment(int moment)
{
    while (moment_now < moment)
        sched_yield();
    __asm__ volatile("" ::: "memory");
}

#endif
