// A program forks before it has threads; parent and child both start threads of their own afterwards.
//
// prints: child 200
// prints: parent 200

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *work(void *unused)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void work_in_threads(const char *name)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%s %d\n", name, count);
    fflush(stdout);
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        work_in_threads("child");
        return 0;
    }
    int status;
    waitpid(child, &status, 0);
    work_in_threads("parent");
    return WEXITSTATUS(status);
}
