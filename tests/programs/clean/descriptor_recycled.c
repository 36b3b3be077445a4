// Data that belongs to the number of a descriptor, as servers keep their connections. A thread gives the number back, and the
// kernel hands it out again to another one: the close comes before, and everything before it. The compilers' own
// -fsanitize=thread reports a race on the connection.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../support/schedule.h"

struct connection {
    int uses;
    int last;
};

struct connection connections[1024];
int numbers[2];

static void use(int number, int user)
{
    connections[number].uses += 1;
    connections[number].last = user;
}

static void *first(void *unused)
{
    (void)unused;
    int number = open("/dev/null", O_RDONLY);
    use(number, 1);
    numbers[0] = number;
    close(number);
    moment_reached(1);
    return NULL;
}

static void *second(void *unused)
{
    (void)unused;
    await_moment(1);
    int number = open("/dev/null", O_RDONLY);
    use(number, 2);
    numbers[1] = number;
    close(number);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    // The smallest number that is free is used again at once.
    return numbers[0] == numbers[1] && connections[numbers[0]].uses == 2 ? 0 : 1;
}
