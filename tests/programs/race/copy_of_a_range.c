// A snapshot is taken by memcpy of a whole table while another thread updates one entry in the middle of it.
//
// expect: data-race (A) (B)

#include <pthread.h>
#include <stddef.h>
#include <string.h>

double prices[64];
double snapshot[64];

static void take_snapshot(size_t count)
{
    memcpy(snapshot, prices, count * sizeof prices[0]); // (A)
}

static void *update(void *unused)
{
    prices[40] = 9.5; // (B)
    return unused;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t updater;
    pthread_create(&updater, NULL, update, NULL);
    take_snapshot(63 + (size_t)argc);
    pthread_join(updater, NULL);
    return 0;
}
