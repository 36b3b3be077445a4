// Thread-local data is private only as long as its address stays with the thread.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <pthread.h>
#include <stdatomic.h>

_Thread_local int errors;
static _Atomic(int *) shown;

static void *work(void *unused)
{
    atomic_store(&shown, &errors);
    errors++; // (A)
    // The memory must outlive what main does with it.
    await_moment(1);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    int *theirs;
    while (!(theirs = atomic_load(&shown)))
        sched_yield();
    *theirs = 0; // (B)
    moment_reached(1);
    pthread_join(worker, NULL);
    return 0;
}
