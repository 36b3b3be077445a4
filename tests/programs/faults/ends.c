// Ends in every way that there is, after a race.
#include "race.h"
#include <assert.h>
#include <signal.h>
#include <time.h>

static void *exit_here(void *unused)
{
    exit(7);
    return unused;
}

static void *run_for_ever(void *unused)
{
    static long turns;
    for (;;)
        turns++;
    return unused;
}

static void *end_later(void *unused)
{
    struct timespec a_while = {0, 50 * 1000 * 1000};
    nanosleep(&a_while, NULL);
    say("last\n");
    return unused;
}

static void handler(void) { say("handler\n"); }

int main(int argc, char **argv)
{
    pthread_t thread;
    CASE("clean") {
        say("clean\n");
        return argc > 2 ? atoi(argv[2]) : 0;
    }
    atexit(handler);
    at_quick_exit(handler);
    race();
    say("raced\n");
    CASE("return") return argc > 2 ? atoi(argv[2]) : 0;
    CASE("segv") *(volatile int *)8 = 1;
    CASE("abort") abort();
    CASE("assert") assert(argc == 1);
    CASE("kill") raise(SIGKILL);
    CASE("term") raise(SIGTERM);
    CASE("_exit") _exit(7);
    CASE("_Exit") _Exit(7);
    CASE("quick_exit") quick_exit(7);
    CASE("thread") {
        pthread_create(&thread, NULL, exit_here, NULL);
        pause();
    }
    CASE("detached") {
        for (int i = 0; i < 3; i++) {
            pthread_create(&thread, NULL, run_for_ever, NULL);
            pthread_detach(thread);
        }
        return 7;
    }
    CASE("pthread_exit") {
        pthread_create(&thread, NULL, end_later, NULL);
        pthread_exit(NULL);
    }
    CASE("wait") {
        for (;;)
            pause();
    }
    return 99;
}
