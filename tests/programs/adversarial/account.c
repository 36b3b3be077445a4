// Withdrawals test the balance and subtract under the lock, but the lock that held the two together was removed.
//
// run: --analysis velodrome
// expect: atomicity-violation withdraw

#include <keirin.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int balance = 1000;

static int read_balance(void)
{
    pthread_mutex_lock(&lock);
    int result = balance;
    pthread_mutex_unlock(&lock);
    return result;
}

static void subtract(int amount)
{
    pthread_mutex_lock(&lock);
    balance -= amount;
    pthread_mutex_unlock(&lock);
}

static void *withdraw(void *unused)
{
    for (int i = 0; i < 5; i++) {
        KEIRIN_ATOMIC("withdraw")
        {
            if (read_balance() >= 10)
                subtract(10);
        }
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, withdraw, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
