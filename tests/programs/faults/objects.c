// Locks, threads and libraries that come and go in great numbers.
#include "race.h"
#include <dlfcn.h>
#include <sched.h>

static pthread_mutex_t handed = PTHREAD_MUTEX_INITIALIZER;
static long guarded;

static void *unlock_it(void *unused)
{
    pthread_mutex_unlock(&handed);
    return unused;
}

static void *count(void *unused)
{
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&handed);
        guarded++;
        pthread_mutex_unlock(&handed);
    }
    return unused;
}

static volatile int waiting;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t open_gate = PTHREAD_COND_INITIALIZER;
static int is_open;

static void *wait_at_gate(void *unused)
{
    pthread_mutex_lock(&gate);
    waiting++;
    while (!is_open)
        pthread_cond_wait(&open_gate, &gate);
    guarded++;
    pthread_mutex_unlock(&gate);
    return unused;
}

NOT_WATCHED static void await_count(volatile int *counter)
{
    while (*counter == 0)
        sched_yield();
}

static void *own_counter(void *counter)
{
    ++*(int *)counter;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    CASE("mutexes") {
        for (int i = 0; i < 10000; i++) {
            pthread_mutex_t *mutex = malloc(sizeof *mutex + i % 5 * 16);
            pthread_mutex_init(mutex, NULL);
            pthread_mutex_lock(mutex);
            guarded++;
            pthread_mutex_unlock(mutex);
            // Some are forgotten.
            if (i % 3)
                pthread_mutex_destroy(mutex);
            free(mutex);
        }
        race();
        say(guarded == 10000 ? "all\n" : "lost\n");
        return 3;
    }
    CASE("unlocked-by-another") {
        for (int i = 0; i < 100; i++) {
            pthread_mutex_lock(&handed);
            guarded++;
            pthread_create(&thread, NULL, unlock_it, NULL);
            pthread_join(thread, NULL);
        }
        pthread_t two[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&two[i], NULL, count, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(two[i], NULL);
        say(guarded == 500 ? "all\n" : "lost\n");
        return 3;
    }
    CASE("libraries") {
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            void *library = dlopen(argv[2], RTLD_NOW);
            if (!library)
                return 98;
            int (*add)(int) = (int (*)(int))dlsym(library, "add");
            sum += add(1);
            dlclose(library);
        }
        race();
        say(sum == 200 ? "all\n" : "lost\n");
        return 3;
    }
    CASE("unjoined") {
        // Never joined, so that their memory stays; each one ends before the next begins.
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64 << 10);
        static int counters[2500];
        for (int i = 0; i < 2500; i++) {
            if (pthread_create(&thread, &attributes, own_counter, &counters[i]))
                return 98;
            await_count(&counters[i]);
        }
        return 3;
    }
    CASE("alive") {
        int number = argc > 2 ? atoi(argv[2]) : 2200;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 64 << 10);
        pthread_t *threads = calloc(number, sizeof *threads);
        for (int i = 0; i < number; i++)
            if (pthread_create(&threads[i], &attributes, wait_at_gate, NULL))
                return 98;
        pthread_mutex_lock(&gate);
        is_open = 1;
        pthread_cond_broadcast(&open_gate);
        pthread_mutex_unlock(&gate);
        for (int i = 0; i < number; i++)
            pthread_join(threads[i], NULL);
        say(guarded == number ? "all\n" : "lost\n");
        return 3;
    }
    return 99;
}
