// Locks, taken, and tried until they are free.
//
// needs: openmp
// prints: 10 20

#include <omp.h>
#include <stdio.h>

struct counter {
    omp_lock_t lock;
    int count;
};

struct counter counters[2];

static void add(struct counter *counter)
{
    omp_set_lock(&counter->lock);
    counter->count++;
    omp_unset_lock(&counter->lock);
}

static void add_by_trying(struct counter *counter)
{
    while (!omp_test_lock(&counter->lock))
        continue;
    counter->count++;
    omp_unset_lock(&counter->lock);
}

int main(void)
{
    for (int i = 0; i < 2; i++)
        omp_init_lock(&counters[i].lock);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task
            add(&counters[0]);
#pragma omp task
            add(&counters[1]);
#pragma omp task
            add_by_trying(&counters[1]);
        }
    }
    printf("%d %d\n", counters[0].count, counters[1].count);
    for (int i = 0; i < 2; i++)
        omp_destroy_lock(&counters[i].lock);
    return 0;
}
