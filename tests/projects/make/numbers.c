#include "shared.h"
#include <pthread.h>
#include <stdio.h>

static void *work(void *argument) {
    for (int i = 0; i < 100; i++)
        count(1);
    return argument;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    put(3, 7);
    printf("%d %d\n", counted(), at(3));
    return counted() == 400 ? 0 : 1;
}
