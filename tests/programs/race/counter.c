// Two threads count in one variable; each addition is a read and a write that the other can come between.
//
// expect: data-race (A) (A)

#include <pthread.h>

long visitors;

static void *count_visitors(void *unused)
{
    visitors++; // (A)
    return unused;
}

int main(void)
{
    pthread_t doors[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&doors[i], NULL, count_visitors, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(doors[i], NULL);
    return visitors > 2;
}
