// A thread maps memory, uses it and gives it back; the next one gets the same address from the system. Nothing orders the
// two, and nothing needs to.
//
// prints: same address

#include "schedule.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { SIZE = 1 << 20 };

static uintptr_t addresses[2];

static void *use_mapping(void *argument)
{
    intptr_t turn = (intptr_t)argument;
    await_moment((int)turn);
    // A wish, so that it is the same memory also if somebody else maps something meanwhile.
    void *wish = (void *)(uintptr_t)0x2000000000;
    int *memory = mmap(wish, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < SIZE / sizeof *memory; i += 64)
        memory[i] = (int)turn;
    addresses[turn] = (uintptr_t)memory;
    munmap(memory, SIZE);
    moment_reached((int)turn + 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use_mapping, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts(addresses[0] == addresses[1] ? "same address" : "other address");
    return 0;
}
