#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

int count(void) {
    pthread_mutex_lock(&lock);
    int result = ++total;
    pthread_mutex_unlock(&lock);
    return result;
}
