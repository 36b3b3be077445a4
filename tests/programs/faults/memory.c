// Touches as many megabytes as its argument says, twice, from two threads one after the other, and tells the greatest
// amount of memory that it had.
#include "race.h"
#include <sys/resource.h>

static size_t size;
static char *memory;

static void *touch(void *unused)
{
    for (size_t at = 0; at < size; at += 8)
        *(long *)(memory + at) += 1;
    return unused;
}

int main(int argc, char **argv)
{
    size = argc > 1 ? (size_t)atoi(argv[1]) << 20 : 0;
    memory = calloc(size, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, touch, NULL);
    pthread_join(thread, NULL);
    touch(NULL);
    long right = 1;
    for (size_t at = 0; at < size; at += 8)
        right &= *(long *)(memory + at) == 2;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s %ld\n", right ? "right" : "wrong", usage.ru_maxrss / 1024);
    return 3;
}
