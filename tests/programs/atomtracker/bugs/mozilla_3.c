// Mozilla#3: a hash table shrinks when few of its places are in use, and counts entries and removed entries one after the other.
//
// A removed entry keeps its place, so that removing one changes both counts and not their sum. Whoever looks at both in between
// finds too few and shrinks the table although it must not.
//
// variables: several
#include "../workload.h"

enum { ENTRIES = 60, LOOKS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int entry_count = ENTRIES;
int removed_count;
int shrunk;

static void remove_entry(void)
{
    pthread_mutex_lock(&lock);
    entry_count--; // (bug)
    pthread_mutex_unlock(&lock);
    tear_here();
    pthread_mutex_lock(&lock);
    removed_count++; // (bug)
    pthread_mutex_unlock(&lock);
}

static void shrink_if_sparse(void)
{
    pthread_mutex_lock(&lock);
    int in_use = entry_count; // (bug)
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    in_use += removed_count; // (bug)
    pthread_mutex_unlock(&lock);
    if (in_use != ENTRIES) {
        shrunk = 1;
        is_bad("the table has shrunk");
    }
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    if (argument == NULL) {
        for (int i = 0; i < times(ENTRIES); i++) {
            pause_a_while();
            remove_entry();
        }
    } else {
        for (int i = 0; i < times(LOOKS); i++) {
            pause_a_while();
            tear_begins();
            shrink_if_sparse();
            tear_ends();
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    run_threads(3, worker);
    return workload_end();
}
