// MySql#2: the rows of a table are changed under one lock, and the change is logged under another (Figure 1 of the paper).
//
// If another thread changes rows and logs that in between, the log has the changes in the wrong order.
//
// variables: several
#include "../workload.h"

enum { CHANGES = 100, THREADS = 2 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
int rows;
int log_length;
int bin_log[CHANGES * THREADS];

// Which change of the table was the how manieth, and whether the log has them in this order.
static int table_changes, logged_changes;

NOT_WATCHED static int table_changed(void)
{
    return table_changes++;
}

NOT_WATCHED static void change_logged(int change)
{
    if (logged_changes++ != change)
        is_bad("the log has the changes in the wrong order");
}

static void log_change(int change, int what)
{
    pthread_mutex_lock(&log_lock);
    bin_log[log_length % (CHANGES * THREADS)] = what; // (bug)
    log_length++; // (bug)
    change_logged(change);
    pthread_mutex_unlock(&log_lock);
}

static void delete_all(void)
{
    pthread_mutex_lock(&table_lock);
    rows = 0; // (bug)
    int change = table_changed();
    pthread_mutex_unlock(&table_lock);
    tear_here();
    log_change(change, 'D');
}

static void insert(void)
{
    pthread_mutex_lock(&table_lock);
    rows++; // (bug)
    int change = table_changed();
    pthread_mutex_unlock(&table_lock);
    log_change(change, 'I');
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    for (int i = 0; i < times(CHANGES); i++) {
        pause_a_while();
        if (argument == NULL) {
            delete_all();
        } else {
            tear_begins();
            insert();
            tear_ends();
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    run_threads(THREADS, worker);
    return workload_end();
}
