// MySql#1: to begin a new bin log the old one is closed and the new one opened, without protection.
//
// An insertion that finds the log closed in between does what it is told, but does not log it.
//
// variables: one
#include "../workload.h"

enum { ROTATIONS = 60, INSERTIONS = 100, INSERTERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int log_is_open = 1;
int logged[INSERTERS];

static void new_log(void)
{
    log_is_open = 0; // (bug)
    tear_here();
    log_is_open = 1; // (bug)
}

static void insert(int inserter)
{
    if (log_is_open) { // (bug)
        pthread_mutex_lock(&lock);
        logged[inserter]++;
        pthread_mutex_unlock(&lock);
    }
}

static void *worker(void *argument)
{
    int number = (int)(long)argument;
    thread_start(number);
    if (number == 0) {
        for (int i = 0; i < times(ROTATIONS); i++) {
            pause_a_while();
            new_log();
        }
    } else {
        for (int i = 0; i < times(INSERTIONS); i++) {
            pause_a_while();
            tear_begins();
            insert(number - 1);
            tear_ends();
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    run_threads(1 + INSERTERS, worker);
    for (int i = 0; i < INSERTERS; i++) {
        if (logged[i] != INSERTIONS)
            is_bad("an insertion was not logged");
    }
    return workload_end();
}
