// A pointer to a filled structure is published in relaxed order. The pointer arrives, but nothing says that what it
// points to does.
//
// expect: data-race (A) (B)
// prints: 3

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

struct route {
    int hops;
};

struct route storage;
static _Atomic(struct route *) current;

static void *find_route(void *unused)
{
    storage.hops = 3; // (A)
    atomic_store_explicit(&current, &storage, memory_order_relaxed);
    return unused;
}

int main(void)
{
    pthread_t finder;
    pthread_create(&finder, NULL, find_route, NULL);
    struct route *route;
    while (!(route = atomic_load_explicit(&current, memory_order_acquire)))
        sched_yield();
    printf("%d\n", route->hops); // (B)
    pthread_join(finder, NULL);
    return 0;
}
