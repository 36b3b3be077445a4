#include "config.h"
#include "counter.h"
#include <pthread.h>
#include <stdio.h>

#if SIZEOF_LONG != 8
#error "configure could not run or compile its tests"
#endif
#ifndef HAVE_CLOCK_GETTIME
#error "configure did not find a function that is there"
#endif
#ifdef HAVE_STRLCPY
#error "configure found a function that is not there"
#endif

static void *work(void *argument) {
    count();
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    count();
    pthread_join(thread, NULL);
    printf("%d\n", help(counted()));
    return counted() == 2 ? 0 : 1;
}
