// Thread-specific data with destructors, which run while the thread ends and use a lock and memory.
//
// prints: 3 destroyed, sum 6

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int destroyed, sum;

static void destroy(void *data)
{
    int *number = data;
    pthread_mutex_lock(&lock);
    destroyed++;
    sum += *number;
    pthread_mutex_unlock(&lock);
    free(number);
}

static void *work(void *argument)
{
    int *number = malloc(sizeof *number);
    if (!number)
        abort();
    *number = (int)(intptr_t)argument;
    pthread_setspecific(key, number);
    return NULL;
}

int main(void)
{
    pthread_key_create(&key, destroy);
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d destroyed, sum %d\n", destroyed, sum);
    pthread_key_delete(key);
    return 0;
}
