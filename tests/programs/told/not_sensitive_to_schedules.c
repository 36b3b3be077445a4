// The other side of the branch would write without the lock, but what the branch looks at is set before the threads start, and the same in
// every schedule: there is nothing to tell.
//
// run: --diagnose

#include "pass.h"
#include <pthread.h>

static int y;
static unsigned char c;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *second(void *unused)
{
    unsigned read;
    pthread_mutex_lock(&lock);
    unsigned char seen = READ(c, read);
    pthread_mutex_unlock(&lock);
    if (seen == 1) {
        __keirin_branch(1, "eq8 $1 1", 1, &read);
        __keirin_other_write(&y, sizeof y);
        __keirin_other_end();
        pthread_mutex_lock(&lock);
        WRITE(y, 2);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *third(void *unused)
{
    unsigned read, computed[1];
    pthread_mutex_lock(&lock);
    // The value that is written depends on one that was read, and is the same again.
    unsigned char seen = READ(c, read);
    computed[0] = read;
    c = seen & 3;
    __keirin_write_value(&c, seen & 3, 1, "and8 $1 3", 1, computed);
    WRITE(y, 4);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    static const struct keirin_pass about = {1, TELLS_BRANCHES | TELLS_VALUES, 1, 0, 0};
    pthread_t threads[2];
    __keirin_pass(&about);
    WRITE(c, 1);
    pthread_create(&threads[0], NULL, second, NULL);
    pthread_create(&threads[1], NULL, third, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
