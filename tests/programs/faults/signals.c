// Signals that come all the time, to handlers that do what is watched.
#define _GNU_SOURCE
#include "race.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static atomic_long handled;
static _Thread_local long by_handler[16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long guarded;

__attribute__((noinline)) static long deeper(int depth, long *values)
{
    values[depth % 16]++;
    return depth ? deeper(depth - 1, values) + 1 : 0;
}

static void handler(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
    deeper(8, by_handler);
    char copy[128];
    memcpy(copy, by_handler, sizeof copy);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        *(int *)page = 1;
        munmap(page, 4096);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *nothing(void *unused) { return unused; }

static void *work(void *until)
{
    long values[16] = {0}, turns = 0;
    while (now() < *(double *)until) {
        deeper(20, values);
        pthread_mutex_lock(&lock);
        guarded++;
        pthread_mutex_unlock(&lock);
        free(malloc(5000));
        void *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ((int *)memory)[3] = 1;
        munmap(memory, 8192);
        pthread_t thread;
        if (++turns % 16 == 0 && !pthread_create(&thread, NULL, nothing, NULL))
            pthread_join(thread, NULL);
    }
    return NULL;
}

static void leave(int signal)
{
    (void)signal;
    _exit(9);
}

static void told(int signal)
{
    say(signal == SIGINT ? "interrupted\n" : signal == SIGTERM ? "terminated\n" : "other\n");
    _exit(signal == SIGINT ? 4 : 5);
}

static volatile sig_atomic_t continued;

static void go_on(int signal)
{
    (void)signal;
    continued = 1;
}

int main(int argc, char **argv)
{
    CASE("storm") {
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        sigaction(SIGPROF, &action, NULL);
        struct itimerval often = {{0, 100}, {0, 100}};
        setitimer(ITIMER_REAL, &often, NULL);
        setitimer(ITIMER_PROF, &often, NULL);
        double until = now() + 1;
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, work, &until);
        work(&until);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        say(handled > 100 ? "stormy\n" : "calm\n");
        return 3;
    }
    CASE("leave") {
        // The handler ends the process wherever it was, again and again.
        for (int i = 0; i < 60; i++) {
            pid_t child = fork();
            if (child == 0) {
                struct sigaction action = {.sa_handler = leave};
                sigaction(SIGALRM, &action, NULL);
                struct itimerval once = {{0, 0}, {0, 500 + 37 * i}};
                setitimer(ITIMER_REAL, &once, NULL);
                double until = now() + 30;
                work(&until);
                _exit(1);
            }
            int status;
            if (waitpid(child, &status, 0) != child || status != 9 << 8)
                return 98;
        }
        return 3;
    }
    CASE("wait") {
        signal(SIGINT, told);
        signal(SIGTERM, told);
        race();
        say("ready\n");
        for (;;)
            pause();
    }
    CASE("stop") {
        signal(SIGCONT, go_on);
        race();
        say("ready\n");
        while (!continued)
            usleep(1000);
        say("continued\n");
        return 3;
    }
    return 99;
}
