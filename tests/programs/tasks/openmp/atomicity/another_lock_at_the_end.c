// The block reads under the lock that everybody takes, and writes under another one. The write is a race, and between the
// two the other task can come in.
//
// needs: openmp
// expect: data-race (A) (B) of stock
// expect: atomicity-violation sell

#include <keirin.h>
#include <omp.h>

omp_lock_t stock_lock, sale_lock;
int stock;

static void sell(void)
{
    KEIRIN_ATOMIC("sell")
    {
        omp_set_lock(&stock_lock);
        int left = stock;
        omp_unset_lock(&stock_lock);
        omp_set_lock(&sale_lock);
        stock = left - 1; // (A)
        omp_unset_lock(&sale_lock);
    }
}

static void deliver(void)
{
    omp_set_lock(&stock_lock);
    stock = 100; // (B)
    omp_unset_lock(&stock_lock);
}

int main(void)
{
    omp_init_lock(&stock_lock);
    omp_init_lock(&sale_lock);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        sell();
#pragma omp task
        deliver();
    }
    omp_destroy_lock(&stock_lock);
    omp_destroy_lock(&sale_lock);
    return 0;
}
