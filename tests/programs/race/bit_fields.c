// Two fields of one machine word are written by two threads. Neighbouring bit fields are one memory location.
//
// expect: data-race (A) (B)

#include <pthread.h>

struct {
    unsigned visible : 1;
    unsigned enabled : 1;
} button;

static void *show(void *unused)
{
    button.visible = 1; // (A)
    return unused;
}

static void *enable(void *unused)
{
    button.enabled = 1; // (B)
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, show, NULL);
    pthread_create(&threads[1], NULL, enable, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
