// A report reads a balance twice and expects the same number. Each read holds the lock, both together do not.
//
// run: --analysis velodrome
// expect: atomicity-violation report
// prints: 100 75

#include "schedule.h"
#include <keirin.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int balance = 100;

static int read_balance(void)
{
    pthread_mutex_lock(&lock);
    int result = balance;
    pthread_mutex_unlock(&lock);
    return result;
}

static void *report(void *unused)
{
    int before, after;
    KEIRIN_ATOMIC("report")
    {
        before = read_balance();
        moment_reached(1);
        await_moment(2);
        after = read_balance();
    }
    printf("%d %d\n", before, after);
    return unused;
}

static void *withdraw(void *unused)
{
    await_moment(1);
    pthread_mutex_lock(&lock);
    balance -= 25;
    pthread_mutex_unlock(&lock);
    moment_reached(2);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, report, NULL);
    pthread_create(&threads[1], NULL, withdraw, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
