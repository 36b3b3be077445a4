// All threads but one use atomic operations. A plain read beside an atomic write is a race all the same.
//
// expect: data-race (A) (B)

#include <pthread.h>

long requests;

static void *serve(void *unused)
{
    for (int i = 0; i < 10; i++)
        __atomic_fetch_add(&requests, 1, __ATOMIC_SEQ_CST); // (A)
    return unused;
}

int main(void)
{
    pthread_t server;
    pthread_create(&server, NULL, serve, NULL);
    long seen = *(volatile long *)&requests; // (B)
    pthread_join(server, NULL);
    return seen > 10;
}
