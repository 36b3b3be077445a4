// Mozilla#2: a property cache and the flag that says whether it is empty are changed one after the other.
//
// One thread clears the cache and then calls it empty. If another puts something in and clears the flag in between, the cache
// holds an entry and is called empty: the entry stays for ever.
//
// variables: several
#include "../workload.h"

enum { SLOTS = 4, FILLS = 100, FLUSHES = 80 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int cache[SLOTS];
int cache_is_empty = 1;

// What an onlooker sees who cannot be fooled: the order of changes of the cache must be that of changes of the flag.
static int changes[FILLS + FLUSHES];
static int changes_of_cache, changes_of_flag;

NOT_WATCHED static void cache_changed(int who)
{
    changes[changes_of_cache++ % (FILLS + FLUSHES)] = who;
}

NOT_WATCHED static void flag_changed(int who)
{
    if (changes[changes_of_flag++ % (FILLS + FLUSHES)] != who)
        is_bad("the cache and its flag contradict each other");
}

static void fill(int slot, int value)
{
    pthread_mutex_lock(&lock);
    cache[slot] = value; // (bug)
    cache_changed(1);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    cache_is_empty = 0; // (bug)
    flag_changed(1);
    pthread_mutex_unlock(&lock);
}

static void flush(void)
{
    pthread_mutex_lock(&lock);
    memset(cache, 0, sizeof cache); // (bug)
    cache_changed(2);
    pthread_mutex_unlock(&lock);
    tear_here();
    pthread_mutex_lock(&lock);
    cache_is_empty = 1; // (bug)
    flag_changed(2);
    pthread_mutex_unlock(&lock);
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    if (argument == NULL) {
        for (int i = 0; i < times(FLUSHES); i++) {
            pause_a_while();
            flush();
        }
    } else {
        for (int i = 0; i < times(FILLS); i++) {
            pause_a_while();
            tear_begins();
            fill(i % SLOTS, i + 1);
            tear_ends();
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    run_threads(2, worker);
    return workload_end();
}
