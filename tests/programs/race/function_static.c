// A function keeps its last result in a static variable: it is not safe to be called by two threads, however harmless
// it looks from outside.
//
// expect: data-race (A) (A)

#include <pthread.h>

static unsigned next_identifier(void)
{
    static unsigned last = 100;
    last += 1; // (A)
    return last;
}

static void *open_ticket(void *unused)
{
    next_identifier();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, open_ticket, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
