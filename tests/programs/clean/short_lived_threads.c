// A thousand threads, one after the other, each of which changes what the one before has left.
//
// prints: 1000

#include <pthread.h>
#include <stdio.h>

int baton;

static void *carry(void *unused)
{
    baton++;
    return unused;
}

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        pthread_t runner;
        pthread_create(&runner, NULL, carry, NULL);
        pthread_join(runner, NULL);
    }
    printf("%d\n", baton);
    return 0;
}
