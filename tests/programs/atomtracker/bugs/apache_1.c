// Apache#1: the length of a log buffer is read and written without protection.
//
// A record is put behind those that are in the buffer, and then the length is increased. If another thread adds a record in
// between, both lie at the same place, and the log file is corrupt.
//
// variables: one
#include "../workload.h"

enum { THREADS = 3, REQUESTS = 20, RECORD = 8, ROOM = 4096 };

char buffer[ROOM];
int buffer_length;

static void log_request(int thread, int request)
{
    char record[RECORD + 1];
    snprintf(record, sizeof record, "<%d %04d>", thread, request % 10000);
    int at = buffer_length; // (bug)
    if (at + RECORD > ROOM)
        at = 0; // here it would be written to the file
    memcpy(buffer + at, record, RECORD); // (bug)
    tear_here();
    buffer_length = at + RECORD; // (bug)
}

static void *worker(void *argument)
{
    int thread = (int)(long)argument;
    thread_start(thread);
    for (int request = 0; request < times(REQUESTS); request++) {
        pause_a_while();
        if (thread == 1)
            tear_begins();
        log_request(thread, request);
        if (thread == 1)
            tear_ends();
    }
    return NULL;
}

NOT_WATCHED static void check(void)
{
    int next[THREADS] = {0};
    if (buffer_length != THREADS * REQUESTS * RECORD)
        is_bad("records are lost");
    for (int at = 0; at + RECORD <= buffer_length; at += RECORD) {
        int thread = buffer[at + 1] - '0';
        int request = atoi(buffer + at + 3);
        if (thread < 0 || thread >= THREADS || request != next[thread]++)
            is_bad("a record is corrupt");
    }
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    run_threads(THREADS, worker);
    check();
    return workload_end();
}
