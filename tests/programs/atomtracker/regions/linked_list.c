// A sorted list under one lock, with seventeen operations, each an atomic region.
//
// Most operations look at something that never changes first: how long the list may be, or what step it is numbered in. An
// operation on its own says nothing of where it begins then, but its critical section does.
//
// A region is marked by `// enter NAME` in the line of its first access and `// exit NAME` in that of its last.
#include "../workload.h"

enum { THREADS = 3, ROUNDS = 70, KEYS = 12 };

struct node {
    int key;
    int value;
    struct node *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct node nodes[KEYS + 2]; // a node for each key, between the two ends
struct node *head = &nodes[0];
int length;
int most = KEYS;
int step = 1;
long changes;
long questions;
long answer[17];

// The last node before a key, from some node on.
static struct node *before(struct node *node, int key)
{
    while (node->next->key < key)
        node = node->next;
    return node;
}

static void insert(int key)
{
    pthread_mutex_lock(&lock);
    if (length < most) { // enter insert
        struct node *node = before(head, key);
        if (node->next->key != key) {
            nodes[key].next = node->next;
            node->next = &nodes[key];
            length++;
        }
    }
    changes++; // exit insert
    pthread_mutex_unlock(&lock);
}

static void erase(int key)
{
    pthread_mutex_lock(&lock);
    struct node *node = before(head, key + step - 1); // enter erase
    if (node->next->key == key) {
        node->next = node->next->next;
        length--;
    }
    changes++; // exit erase
    pthread_mutex_unlock(&lock);
}

static void set_value(int key)
{
    pthread_mutex_lock(&lock);
    int wanted = key * step; // enter set_value
    struct node *node = before(head, wanted)->next;
    if (node->key == wanted)
        node->value = wanted;
    changes++; // exit set_value
    pthread_mutex_unlock(&lock);
}

static void add_to_all(void)
{
    pthread_mutex_lock(&lock);
    int value = step; // enter add_to_all
    for (struct node *node = head->next; node->key <= KEYS; node = node->next)
        node->value += value;
    changes++; // exit add_to_all
    pthread_mutex_unlock(&lock);
}

static void erase_first(void)
{
    pthread_mutex_lock(&lock);
    struct node *node = head->next; // enter erase_first
    if (node->key <= KEYS) {
        head->next = node->next;
        length--;
    }
    changes++; // exit erase_first
    pthread_mutex_unlock(&lock);
}

static void erase_odd(void)
{
    pthread_mutex_lock(&lock);
    struct node *node = head; // enter erase_odd
    while (node->next->key <= KEYS) {
        if (node->next->key % 2) {
            node->next = node->next->next;
            length--;
        } else {
            node = node->next;
        }
    }
    changes++; // exit erase_odd
    pthread_mutex_unlock(&lock);
}

static void clear_values(void)
{
    pthread_mutex_lock(&lock);
    for (struct node *node = head->next; node->key <= KEYS; node = node->next) // enter clear_values
        node->value = 0;
    changes++; // exit clear_values
    pthread_mutex_unlock(&lock);
}

static void swap_first_values(void)
{
    pthread_mutex_lock(&lock);
    if (length >= 2) { // enter swap_first_values
        struct node *node = head->next;
        int value = node->value;
        node->value = node->next->value;
        node->next->value = value;
    }
    changes++; // exit swap_first_values
    pthread_mutex_unlock(&lock);
}

static void find(int key)
{
    pthread_mutex_lock(&lock);
    int wanted = key * step; // enter find
    answer[8] = before(head, wanted)->next->key == wanted;
    questions++; // exit find
    pthread_mutex_unlock(&lock);
}

static void value_of(int key)
{
    pthread_mutex_lock(&lock);
    struct node *node = before(head, key)->next; // enter value_of
    answer[9] = node->key == key ? node->value : -1;
    questions++; // exit value_of
    pthread_mutex_unlock(&lock);
}

static void sum_of_keys(void)
{
    pthread_mutex_lock(&lock);
    long sum = 0;
    for (struct node *node = head->next; node->key <= KEYS; node = node->next) // enter sum_of_keys
        sum += node->key;
    answer[10] = sum;
    questions++; // exit sum_of_keys
    pthread_mutex_unlock(&lock);
}

static void sum_of_values(void)
{
    pthread_mutex_lock(&lock);
    long sum = step; // enter sum_of_values
    for (struct node *node = head->next; node->key <= KEYS; node = node->next)
        sum += node->value;
    answer[11] = sum;
    questions++; // exit sum_of_values
    pthread_mutex_unlock(&lock);
}

static void count(void)
{
    pthread_mutex_lock(&lock);
    int nodes_seen = 0;
    for (struct node *node = head->next; node->key <= KEYS; node = node->next) // enter count
        nodes_seen++;
    if (nodes_seen != length)
        is_bad("the length is wrong");
    questions++; // exit count
    pthread_mutex_unlock(&lock);
}

static void smallest(void)
{
    pthread_mutex_lock(&lock);
    answer[13] = head->next->key; // enter smallest
    questions++; // exit smallest
    pthread_mutex_unlock(&lock);
}

static void largest(void)
{
    pthread_mutex_lock(&lock);
    answer[14] = before(head, most + step)->key; // enter largest
    questions++; // exit largest
    pthread_mutex_unlock(&lock);
}

static void room(void)
{
    pthread_mutex_lock(&lock);
    answer[15] = most - length; // enter room
    questions++; // exit room
    pthread_mutex_unlock(&lock);
}

static void is_sorted(void)
{
    pthread_mutex_lock(&lock);
    for (struct node *node = head->next; node->key <= KEYS; node = node->next) { // enter is_sorted
        if (node->key >= node->next->key)
            is_bad("the list is not sorted");
    }
    questions++; // exit is_sorted
    pthread_mutex_unlock(&lock);
}

static void operate(unsigned operation, int key)
{
    switch (operation) {
    case 0: insert(key); break;
    case 1: erase(key); break;
    case 2: set_value(key); break;
    case 3: add_to_all(); break;
    case 4: erase_first(); break;
    case 5: erase_odd(); break;
    case 6: clear_values(); break;
    case 7: swap_first_values(); break;
    case 8: find(key); break;
    case 9: value_of(key); break;
    case 10: sum_of_keys(); break;
    case 11: sum_of_values(); break;
    case 12: count(); break;
    case 13: smallest(); break;
    case 14: largest(); break;
    case 15: room(); break;
    case 16: is_sorted(); break;
    default: insert(key); break;
    }
}

static void *worker(void *argument)
{
    thread_start((int)(long)argument);
    for (int i = 0; i < ROUNDS; i++) {
        pause_a_while();
        operate(random_below(24), 1 + (int)random_below(KEYS));
        pause_a_while();
        operate(random_below(24), 1 + (int)random_below(KEYS));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    workload_start(argc, argv);
    for (int key = 0; key <= KEYS + 1; key++)
        nodes[key].key = key;
    nodes[0].next = &nodes[KEYS + 1];
    nodes[KEYS + 1].next = &nodes[KEYS + 1];
    run_threads(THREADS, worker);
    if (changes + questions != 2 * THREADS * ROUNDS)
        is_bad("operations are lost");
    return workload_end();
}
