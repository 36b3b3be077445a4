// Detached threads one after the other, each on the stack of the one before, with large arrays, alloca and addresses of
// locals that other functions use. Only a clock orders them.
//
// prints: 8 threads

#include "schedule.h"
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void fill(volatile char *buffer, size_t size, int value)
{
    for (size_t i = 0; i < size; i += 16)
        buffer[i] = (char)value;
}

static void *use_stack(void *argument)
{
    int turn = (int)(intptr_t)argument;
    char large[256 * 1024];
    fill(large, sizeof large, turn);
    size_t size = 1000 + (size_t)turn * 100;
    char *dynamic = alloca(size);
    fill(dynamic, size, turn);
    moment_reached(turn + 1);
    return NULL;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (intptr_t turn = 0; turn < 8; turn++) {
        pthread_t thread;
        pthread_create(&thread, &attributes, use_stack, (void *)turn);
        await_moment((int)turn + 1);
        usleep(2000);
    }
    pthread_attr_destroy(&attributes);
    printf("%d threads\n", 8);
    return 0;
}
