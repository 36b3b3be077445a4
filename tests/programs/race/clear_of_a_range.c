// A buffer is cleared by memset while another thread still puts a byte into its last place.
//
// expect: data-race (A) (B)

#include <pthread.h>
#include <stddef.h>
#include <string.h>

char buffer[100];

static void clear(size_t size)
{
    memset(buffer, 0, size); // (A)
}

static void *fill(void *unused)
{
    buffer[99] = 'z'; // (B)
    return unused;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t filler;
    pthread_create(&filler, NULL, fill, NULL);
    clear(99 + (size_t)argc);
    pthread_join(filler, NULL);
    return 0;
}
