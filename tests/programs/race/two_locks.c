// Both threads take a lock, but not the same one.
//
// expect: data-race (A) (B)

#include <pthread.h>

static pthread_mutex_t input_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned long bytes;

static void *receive(void *unused)
{
    pthread_mutex_lock(&input_lock);
    bytes += 512; // (A)
    pthread_mutex_unlock(&input_lock);
    return unused;
}

static void *send_out(void *unused)
{
    pthread_mutex_lock(&output_lock);
    bytes += 64; // (B)
    pthread_mutex_unlock(&output_lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, receive, NULL);
    pthread_create(&threads[1], NULL, send_out, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
