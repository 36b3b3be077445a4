// Transfers that hold both locks until they are done with both accounts, always taken in the same order:
// all blocks are atomic.
//
// run: --analysis fasttrack,velodrome
// prints: 400

#include <keirin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account accounts[4];

static void transfer(int from, int to, int amount)
{
    int first = from < to ? from : to;
    int second = from < to ? to : from;
    KEIRIN_ATOMIC("transfer")
    {
        pthread_mutex_lock(&accounts[first].lock);
        pthread_mutex_lock(&accounts[second].lock);
        accounts[from].balance -= amount;
        accounts[to].balance += amount;
        pthread_mutex_unlock(&accounts[second].lock);
        pthread_mutex_unlock(&accounts[first].lock);
    }
}

static void *trade(void *argument)
{
    int own = (int)(intptr_t)argument;
    for (int i = 0; i < 60; i++)
        if (i % 4 != own)
            transfer(own, i % 4, i % 7);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 4; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].balance = 100;
    }
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, trade, (void *)i);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        sum += accounts[i].balance;
    printf("%d\n", sum);
    return 0;
}
