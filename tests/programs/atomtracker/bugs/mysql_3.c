// MySql#3: a slave reads the name of the log file and the position in it one after the other.
//
// If the master begins a new file in between, the slave has the old name and the new position, and fails.
//
// variables: several
#include "../workload.h"

enum { FILES = 50, READS = 60, FILE_SIZE = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int file_number;
int file_position;

static void next_file(int number)
{
    pthread_mutex_lock(&lock);
    file_number = number; // (bug)
    file_position = number * FILE_SIZE; // (bug)
    pthread_mutex_unlock(&lock);
}

static void read_position(void)
{
    pthread_mutex_lock(&lock);
    int number = file_number; // (bug)
    pthread_mutex_unlock(&lock);
    tear_here();
    pthread_mutex_lock(&lock);
    int position = file_position; // (bug)
    pthread_mutex_unlock(&lock);
    if (position != number * FILE_SIZE)
        is_bad("the slave has the name of one file and a position in another");
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    if (argument == NULL) {
        for (int i = 0; i < times(FILES); i++) {
            pause_a_while();
            tear_begins();
            next_file(i % FILES + 1);
            tear_ends();
        }
    } else {
        for (int i = 0; i < times(READS); i++) {
            pause_a_while();
            read_position();
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
