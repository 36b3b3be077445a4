// A table is made when it is first needed. The test and the assignment each hold the lock, so that there is no race, and
// still the table is made twice.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation table
// prints: made 2 times

#include "schedule.h"
#include <keirin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *table;
int made;

static int *look(void)
{
    pthread_mutex_lock(&lock);
    int *found = table;
    pthread_mutex_unlock(&lock);
    return found;
}

static void make(void)
{
    pthread_mutex_lock(&lock);
    free(table);
    table = calloc(16, sizeof *table);
    made++;
    pthread_mutex_unlock(&lock);
}

static void *slow_user(void *unused)
{
    KEIRIN_ATOMIC("table")
    {
        if (!look()) {
            moment_reached(1);
            await_moment(2);
            make();
        }
    }
    return unused;
}

static void *fast_user(void *unused)
{
    await_moment(1);
    KEIRIN_ATOMIC("table")
    {
        if (!look())
            make();
    }
    moment_reached(2);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, slow_user, NULL);
    pthread_create(&threads[1], NULL, fast_user, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("made %d times\n", made);
    free(table);
    return 0;
}
