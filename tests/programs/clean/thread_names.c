// Threads are named while they run, by themselves and by others.
//
// prints: reader writer

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t named;
char names[2][16];

static void *run(void *argument)
{
    char *name = argument;
    pthread_barrier_wait(&named);
    pthread_getname_np(pthread_self(), name, sizeof names[0]);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&named, NULL, 3);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, names[i]);
    pthread_setname_np(threads[0], "reader");
    pthread_setname_np(threads[1], "writer");
    pthread_barrier_wait(&named);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%s %s\n", names[0], names[1]);
    pthread_barrier_destroy(&named);
    return 0;
}
