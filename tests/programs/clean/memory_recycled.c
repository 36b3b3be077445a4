// Threads that have nothing to do with each other get the memory that others have given back: malloc, calloc, realloc
// and aligned blocks of all sizes. The allocator's own order is not the program's, and is not needed.
//
// prints: 4 threads done

#include "schedule.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *use_memory(void *argument)
{
    unsigned seed = (unsigned)(intptr_t)argument;
    for (int i = 0; i < 2000; i++) {
        size_t size = (size_t)(rand_r(&seed) % 300 + 1);
        char *block = i % 3 == 0 ? calloc(1, size) : i % 3 == 1 ? malloc(size) : aligned_alloc(64, (size + 63) / 64 * 64);
        if (!block)
            abort();
        block[0] = 1;
        block[size - 1] = 2;
        block = realloc(block, size + 200);
        if (!block)
            abort();
        memset(block, 3, size + 200);
        free(block);
    }
    return NULL;
}

static int *handed_over;

static void *give_back(void *unused)
{
    handed_over = malloc(4000);
    if (!handed_over)
        abort();
    handed_over[0] = handed_over[999] = 7;
    free(handed_over);
    moment_reached(1);
    return unused;
}

static void *take_again(void *unused)
{
    await_moment(1);
    int *block = malloc(4000);
    if (!block)
        abort();
    block[0] = block[999] = 8;
    free(block);
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, use_memory, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&threads[0], NULL, give_back, NULL);
    pthread_create(&threads[1], NULL, take_again, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts("4 threads done");
    return 0;
}
