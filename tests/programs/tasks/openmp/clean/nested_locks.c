// A lock that its owner may take again: it is held until it was given back as often.
//
// needs: openmp
// prints: 30

#include <omp.h>
#include <stdio.h>

omp_nest_lock_t lock;
int sum;

static void add(int amount)
{
    omp_set_nest_lock(&lock);
    sum += amount;
    omp_unset_nest_lock(&lock);
}

static void add_twice(int amount)
{
    omp_set_nest_lock(&lock);
    add(amount);
    sum += amount;
    omp_unset_nest_lock(&lock);
}

static void add_if_free(int amount)
{
    while (omp_test_nest_lock(&lock) == 0)
        continue;
    add(amount);
    omp_unset_nest_lock(&lock);
}

int main(void)
{
    omp_init_nest_lock(&lock);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 1; i <= 4; i++) {
#pragma omp task firstprivate(i)
            add_twice(i);
#pragma omp task firstprivate(i)
            add_if_free(i);
        }
    }
    printf("%d\n", sum);
    omp_destroy_nest_lock(&lock);
    return 0;
}
