// The program of PTRacer's figure 1 as threads, with the calls of the compiler's pass made by hand. The third task comes first, so that the
// second one writes under the lock: had it come first it would have written without.
//
// run: --diagnose
// expect: data-race (A) (B)

#include "pass.h"
#include "schedule.h"
#include <pthread.h>

static int y;
static unsigned char c;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *second(void *unused)
{
    unsigned read;
    await_moment(1);
    pthread_mutex_lock(&lock);
    unsigned char seen = READ(c, read);
    pthread_mutex_unlock(&lock);
    if (seen == 1) {
        __keirin_branch(1, "eq8 $1 1", 1, &read);
        __keirin_other_write(&y, sizeof y); // (A)
        __keirin_other_end();
        pthread_mutex_lock(&lock);
        WRITE(y, 2);
        pthread_mutex_unlock(&lock);
    } else {
        __keirin_branch(0, "eq8 $1 1", 1, &read);
        __keirin_other_acquire(&lock, 0);
        __keirin_other_write(&y, sizeof y);
        __keirin_other_release(&lock, 0);
        __keirin_other_end();
        WRITE(y, 3); //
    }
    moment_reached(2);
    return unused;
}

static void *third(void *unused)
{
    await_moment(0);
    pthread_mutex_lock(&lock);
    WRITE(c, 1);
    WRITE(y, 4); // (B)
    pthread_mutex_unlock(&lock);
    moment_reached(1);
    return unused;
}

int main(void)
{
    static const struct keirin_pass about = {1, TELLS_BRANCHES | TELLS_VALUES, 1, 0, 0};
    pthread_t threads[2];
    __keirin_pass(&about);
    WRITE(c, 0);
    pthread_create(&threads[0], NULL, second, NULL);
    pthread_create(&threads[1], NULL, third, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
