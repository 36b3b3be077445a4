// Stacks that are deep, small, left by jumps or of unknown size.
#define _GNU_SOURCE
#include "race.h"
#include <alloca.h>
#include <limits.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

static jmp_buf back;

__attribute__((noinline)) static long down(long depth, volatile long *sum)
{
    *sum += depth;
    return depth ? down(depth - 1, sum) + 1 : 0;
}

__attribute__((noinline)) static void jump_from(int depth, volatile int *value)
{
    (*value)++;
    if (!depth)
        longjmp(back, 1);
    jump_from(depth - 1, value);
    (*value)++;
}

__attribute__((noinline)) static int sized(int size)
{
    int array[size];
    int *more = alloca(size * sizeof *more);
    for (int i = 0; i < size; i++)
        array[i] = more[i] = i;
    return array[size - 1] + more[size / 2];
}

static void *deep(void *depth)
{
    volatile long sum = 0;
    long reached = down((long)depth, &sum);
    race();
    return (void *)reached;
}

int marked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Does everything that a small thread does.
static void *little(void *memory)
{
    char *bytes = memory;
    pthread_mutex_lock(&lock);
    marked++;
    pthread_mutex_unlock(&lock);
    void *block = malloc(64);
    memset(block, 1, 64);
    memcpy(bytes + 1, block, 7);
    free(block);
    __atomic_fetch_add((int *)(bytes + 8), 1, __ATOMIC_SEQ_CST);
    // A race, told from here.
    await_moment(1);
    shared = 5;
    return NULL;
}

static void small_thread(size_t size, void *memory, size_t *left)
{
    pthread_attr_t attributes;
    pthread_t thread;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(stack, 0x5a, size);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, size) || pthread_create(&thread, &attributes, little, memory))
        exit(98);
    shared = 4;
    moment_reached(1);
    pthread_join(thread, NULL);
    size_t unused = 0;
    while (unused < size && stack[unused] == 0x5a)
        unused++;
    *left = unused;
}

int main(int argc, char **argv)
{
    CASE("deep") {
        pthread_attr_t attributes;
        pthread_t thread;
        void *reached;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 1ul << 30);
        if (pthread_create(&thread, &attributes, deep, (void *)1000000l))
            return 98;
        pthread_join(thread, &reached);
        say((long)reached == 1000000 ? "deep\n" : "shallow\n");
        return 3;
    }
    CASE("jumps") {
        volatile int value = 0;
        for (volatile int i = 0; i < 300; i++)
            if (!setjmp(back))
                jump_from(1000, &value);
        race();
        say(value == 300 * 1001 ? "jumped\n" : "lost\n");
        return 3;
    }
    CASE("sizes") {
        long sum = 0;
        for (int i = 1; i < 3000; i++)
            sum += sized(i);
        race();
        say(sum > 0 ? "sized\n" : "lost\n");
        return 3;
    }
    CASE("small") {
        char memory[64] = {0};
        size_t left, size = PTHREAD_STACK_MIN + 4096;
        small_thread(size, memory, &left);
        char text[100];
        snprintf(text, sizeof text, "%zu of %zu bytes were used\n", size - left, size);
        if (write(2, text, strlen(text)) < 0)
            return 97;
        return left > 0 ? 3 : 4;
    }
    return 99;
}
