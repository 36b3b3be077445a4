// Handlers interrupt threads in the middle of their work, and use only what a handler may use.
//
// prints: 20 signals

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int signals;
static atomic_bool stop;
int table[256];

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

static void *work(void *unused)
{
    while (!atomic_load(&stop))
        for (int i = 0; i < 256; i++)
            table[i] += i;
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    for (int i = 0; i < 20; i++) {
        pthread_kill(worker, SIGUSR1);
        while (atomic_load(&signals) <= i)
            usleep(100);
    }
    atomic_store(&stop, 1);
    pthread_join(worker, NULL);
    printf("%d signals\n", atomic_load(&signals));
    return 0;
}
