// An instrumented library is loaded while threads run, used by them, and closed again.
//
// library: loaded_library_plugin.c
// prints: 2000

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char *path;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int total;

static void *use_library(void *unused)
{
    for (int round = 0; round < 10; round++) {
        void *library = dlopen(path, RTLD_NOW);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return unused;
        }
        int (*count)(int);
        *(void **)&count = dlsym(library, "count");
        pthread_mutex_lock(&lock);
        for (int i = 0; i < 100; i++)
            total += count(i) - i;
        pthread_mutex_unlock(&lock);
        dlclose(library);
    }
    return unused;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    path = argv[1];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, use_library, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
