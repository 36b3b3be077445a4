// Two numbers belong together. The block around their update is marked by calls, as a macro does not fit where a block
// begins in one function and ends in another.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation update
// prints: 1 0

#include "schedule.h"
#include <keirin.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int packets;
int acknowledged;

static void begin_update(void)
{
    keirin_atomic_begin("update");
    pthread_mutex_lock(&lock);
    packets++;
    pthread_mutex_unlock(&lock);
}

static void end_update(void)
{
    pthread_mutex_lock(&lock);
    acknowledged++;
    pthread_mutex_unlock(&lock);
    keirin_atomic_end();
}

static void *send_packet(void *unused)
{
    begin_update();
    moment_reached(1);
    await_moment(2);
    end_update();
    return unused;
}

static void *show(void *unused)
{
    await_moment(1);
    pthread_mutex_lock(&lock);
    printf("%d %d\n", packets, acknowledged);
    pthread_mutex_unlock(&lock);
    moment_reached(2);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, send_packet, NULL);
    pthread_create(&threads[1], NULL, show, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
