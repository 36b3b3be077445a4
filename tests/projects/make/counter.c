#include "shared.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

void count(int by) {
    pthread_mutex_lock(&lock);
    total += by;
    pthread_mutex_unlock(&lock);
}

int counted(void) {
    pthread_mutex_lock(&lock);
    int result = total;
    pthread_mutex_unlock(&lock);
    return result;
}
