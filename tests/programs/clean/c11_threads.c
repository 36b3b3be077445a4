// The threads, mutexes, conditions and once-calls of C11. They are functions of their own in the C library; a detector
// that knows only those of POSIX does not even see the threads.
//
// prints: 1 start, 20 items

#include <stdio.h>
#include <threads.h>

static once_flag started = ONCE_FLAG_INIT;
static mtx_t lock;
static cnd_t changed;
int starts, items, producers_done;

static void start(void)
{
    starts++;
}

static int produce(void *unused)
{
    (void)unused;
    call_once(&started, start);
    for (int i = 0; i < 10; i++) {
        mtx_lock(&lock);
        items++;
        mtx_unlock(&lock);
    }
    mtx_lock(&lock);
    producers_done++;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    return starts;
}

int main(void)
{
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    thrd_t threads[2];
    for (int i = 0; i < 2; i++)
        thrd_create(&threads[i], produce, NULL);
    mtx_lock(&lock);
    while (producers_done < 2)
        cnd_wait(&changed, &lock);
    printf("%d start, %d items\n", starts, items);
    mtx_unlock(&lock);
    for (int i = 0; i < 2; i++)
        thrd_join(threads[i], NULL);
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    return 0;
}
