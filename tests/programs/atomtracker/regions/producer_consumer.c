// Producers and consumers with a bounded queue. Its atomic regions, four:
//
// - a producer writes an item and puts it into the queue;
// - a consumer takes one out and works on it; what it does with it is its own affair, and so belongs to the taking;
// - each adds what it has counted to the sum of all;
// - in the end the main thread looks at the sum.
//
// A region is marked by `// enter NAME` in the line of its first access and `// exit NAME` in that of its last; (thread end)
// behind it says that its thread does nothing more.
#include "../workload.h"
#include <semaphore.h>

enum { PRODUCERS = 2, CONSUMERS = 2, ITEMS = 30, ROOM = 4 };

struct item {
    int number;
    int square;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t free_places, full_places;
struct item items[PRODUCERS * ITEMS];
struct item *queue[ROOM];
int first, last;
long sums[PRODUCERS + CONSUMERS];
long total;

static void produce(int producer, int number)
{
    struct item *item = &items[producer * ITEMS + number];
    item->number = number; // enter put
    sem_wait(&free_places);
    pthread_mutex_lock(&lock);
    queue[last % ROOM] = item;
    last++; // exit put
    pthread_mutex_unlock(&lock);
    sem_post(&full_places);
}

static void consume(int consumer)
{
    sem_wait(&full_places);
    pthread_mutex_lock(&lock);
    struct item *item = queue[first % ROOM]; // enter take
    first++;
    pthread_mutex_unlock(&lock);
    sem_post(&free_places);
    pause_a_while();
    item->square = item->number * item->number;
    sums[consumer] += item->square; // exit take
}

static void add_up(int thread)
{
    pthread_mutex_lock(&lock);
    total += sums[thread]; // enter sum // exit sum (thread end)
    pthread_mutex_unlock(&lock);
}

static void *worker(void *argument)
{
    int number = (int)(long)argument;
    thread_start(number);
    for (int i = 0; i < ITEMS; i++) {
        pause_a_while();
        if (number < PRODUCERS)
            produce(number, i);
        else
            consume(number);
    }
    add_up(number);
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    sem_init(&free_places, 0, ROOM);
    sem_init(&full_places, 0, 0);
    run_threads(PRODUCERS + CONSUMERS, worker);
    if (total != (long)PRODUCERS * (ITEMS - 1) * ITEMS * (2 * ITEMS - 1) / 6) // enter look // exit look (thread end)
        is_bad("the sum is wrong");
    return workload_end();
}
