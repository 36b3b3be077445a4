// Publication by fences around relaxed operations: release and acquire, both in one, and sequentially consistent ones.
// Detectors that do not know fences give false alarms here.
//
// prints: 1 2 3

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

int values[3];
static atomic_int ready[3];

static void *publish(void *unused)
{
    values[0] = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&ready[0], 1, memory_order_relaxed);

    values[1] = 2;
    atomic_thread_fence(memory_order_acq_rel);
    atomic_store_explicit(&ready[1], 1, memory_order_relaxed);

    values[2] = 3;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&ready[2], 1, memory_order_relaxed);
    return unused;
}

int main(void)
{
    pthread_t publisher;
    pthread_create(&publisher, NULL, publish, NULL);
    static const memory_order orders[3] = {memory_order_acquire, memory_order_acq_rel, memory_order_seq_cst};
    int seen[3];
    for (int i = 0; i < 3; i++) {
        while (!atomic_load_explicit(&ready[i], memory_order_relaxed))
            sched_yield();
        switch (orders[i]) {
        case memory_order_acquire: atomic_thread_fence(memory_order_acquire); break;
        case memory_order_acq_rel: atomic_thread_fence(memory_order_acq_rel); break;
        default: atomic_thread_fence(memory_order_seq_cst); break;
        }
        seen[i] = values[i];
    }
    printf("%d %d %d\n", seen[0], seen[1], seen[2]);
    pthread_join(publisher, NULL);
    return 0;
}
