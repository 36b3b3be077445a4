// A program forks while other threads run and hold locks. The child has only the thread that forked; it does a little
// work, with data that another thread was about to change, and leaves by _exit.
//
// prints: child saw a number
// prints: parent done

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stop;
int number;

static void *count(void *unused)
{
    while (!atomic_load(&stop)) {
        pthread_mutex_lock(&lock);
        number++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t counters[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&counters[i], NULL, count, NULL);
    pthread_mutex_lock(&lock);
    pid_t child = fork();
    if (child == 0) {
        number++;
        static const char text[] = "child saw a number\n";
        _exit(number > 0 && write(1, text, sizeof text - 1) > 0 ? 0 : 1);
    }
    pthread_mutex_unlock(&lock);
    int status;
    waitpid(child, &status, 0);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(counters[i], NULL);
    puts("parent done");
    return WEXITSTATUS(status);
}
