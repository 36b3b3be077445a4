// Mozilla#1: the number of strings and their total length are each counted under a lock, but not both at once.
//
// Whoever asks for the statistics in between gets a number and a length that do not belong together.
//
// variables: several
#include "../workload.h"

enum { STRINGS = 60, LENGTH = 12, QUESTIONS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long total_strings;
long total_length;

static void new_string(int length)
{
    pthread_mutex_lock(&lock);
    total_strings++; // (bug)
    pthread_mutex_unlock(&lock);
    tear_here();
    pthread_mutex_lock(&lock);
    total_length += length; // (bug)
    pthread_mutex_unlock(&lock);
}

static void ask(void)
{
    pthread_mutex_lock(&lock);
    long strings = total_strings; // (bug)
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    long length = total_length; // (bug)
    pthread_mutex_unlock(&lock);
    if (length != strings * LENGTH)
        is_bad("number and length of the strings do not belong together");
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    if (argument == NULL) {
        for (int i = 0; i < times(STRINGS); i++) {
            pause_a_while();
            new_string(LENGTH);
        }
    } else {
        for (int i = 0; i < times(QUESTIONS); i++) {
            pause_a_while();
            tear_begins();
            ask();
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
