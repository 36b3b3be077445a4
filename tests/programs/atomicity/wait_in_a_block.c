// Waiting for a condition inside of a block gives the lock away: whatever others do meanwhile falls into the block.
//
// run: --analysis velodrome
// expect: atomicity-violation take_ticket
// prints: ticket 1, 2 visitors

#include <keirin.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
int visitors;
int tickets;
int waiting;

static void *take_ticket(void *unused)
{
    int ticket;
    KEIRIN_ATOMIC("take_ticket")
    {
        pthread_mutex_lock(&lock);
        visitors++;
        waiting = 1;
        while (tickets == 0)
            pthread_cond_wait(&arrived, &lock);
        ticket = tickets;
        pthread_mutex_unlock(&lock);
    }
    printf("ticket %d, %d visitors\n", ticket, visitors);
    return unused;
}

static void *bring_tickets(void *unused)
{
    for (int brought = 0; !brought;) {
        pthread_mutex_lock(&lock);
        if (waiting) {
            visitors++;
            tickets++;
            pthread_cond_signal(&arrived);
            brought = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, take_ticket, NULL);
    pthread_create(&threads[1], NULL, bring_tickets, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
