// Apache#2: a reference counter is decremented, and then read again to see whether it was the last reference.
//
// Two threads that give back the last two references may both have decremented before either reads: both find 0 and both clean
// up, the second one what is gone.
//
// variables: one
#include "../workload.h"

enum { OBJECTS = 100, THREADS = 2 };

struct object {
    int references;
    char *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct object cache[OBJECTS];
int clean_ups;

static void give_back(struct object *object)
{
    pthread_mutex_lock(&lock);
    object->references--; // (bug)
    pthread_mutex_unlock(&lock);
    tear_here();
    pthread_mutex_lock(&lock);
    if (object->references == 0) { // (bug)
        if (object->data == NULL)
            is_bad("an object is cleaned up twice");
        object->data = NULL;
        clean_ups++;
    }
    pthread_mutex_unlock(&lock);
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    for (int i = 0; i < times(OBJECTS); i++) {
        pause_a_while();
        if (argument)
            tear_begins();
        give_back(&cache[i % OBJECTS]);
        if (argument)
            tear_ends();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char data[OBJECTS];
    workload_start(argc, argv);
    for (int i = 0; i < OBJECTS; i++) {
        cache[i].references = THREADS;
        cache[i].data = &data[i];
    }
    run_threads(THREADS, worker);
    if (clean_ups != OBJECTS)
        is_bad("the number of objects that were cleaned up is wrong");
    return workload_end();
}
