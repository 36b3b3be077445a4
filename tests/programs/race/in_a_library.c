// The race is in a library that the program loads while it runs; both sides are told with their places in it.
//
// library: in_a_library_plugin.c
// expect: data-race (A) (A)

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *(*record)(void *);

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no library");
        return 1;
    }
    *(void **)&record = dlsym(library, "record");
    if (!record)
        return 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, record, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
