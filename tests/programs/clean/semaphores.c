// Two threads pass a ball by semaphores; nothing else protects it.
//
// prints: 200

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t left, right;
int ball;

static void *play_left(void *unused)
{
    for (int i = 0; i < 100; i++) {
        sem_wait(&left);
        ball++;
        sem_post(&right);
    }
    return unused;
}

static void *play_right(void *unused)
{
    for (int i = 0; i < 100; i++) {
        while (sem_trywait(&right) != 0) {
        }
        ball++;
        sem_post(&left);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&left, 0, 1);
    sem_init(&right, 0, 0);
    pthread_create(&threads[0], NULL, play_left, NULL);
    pthread_create(&threads[1], NULL, play_right, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", ball);
    sem_destroy(&left);
    sem_destroy(&right);
    return 0;
}
