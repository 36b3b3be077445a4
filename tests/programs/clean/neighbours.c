// Every thread writes elements, bytes and fields of its own that lie side by side in the same words.

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 4, BYTES = 61 };

uint8_t bytes[BYTES];
int numbers[THREADS];
struct {
    char first;
    char second;
    short third;
    int fourth;
} fields;

static void *work(void *argument)
{
    intptr_t mine = (intptr_t)argument;
    for (int i = (int)mine; i < BYTES; i += THREADS)
        bytes[i] = (uint8_t)i;
    numbers[mine] += 10;
    switch (mine) {
    case 0: fields.first = 1; break;
    case 1: fields.second = 2; break;
    case 2: fields.third = 3; break;
    default: fields.fourth = 4; break;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    int sum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += numbers[i];
    }
    return sum != 40 || fields.first + fields.second + fields.third + fields.fourth != 10;
}
