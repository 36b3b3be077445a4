// Atomic operations of one, two, four and eight bytes, some of them on parts of the same word, and all operations
// there are.
//
// prints: 100 100 100 100 65

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

union word {
    uint64_t whole;
    uint8_t bytes[8];
};

uint8_t one;
uint16_t two;
uint32_t four;
uint64_t eight;
union word word;

static void *count(void *unused)
{
    for (int i = 0; i < 50; i++) {
        __atomic_fetch_add(&one, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&two, 1, __ATOMIC_ACQ_REL);
        __atomic_fetch_sub(&four, UINT32_MAX, __ATOMIC_SEQ_CST);
        uint64_t seen = __atomic_load_n(&eight, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(&eight, &seen, seen + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
        __atomic_fetch_or(&word.bytes[3], 0x40, __ATOMIC_RELAXED);
        __atomic_fetch_xor(&word.whole, 0, __ATOMIC_RELAXED);
        __atomic_fetch_and(&word.bytes[0], 0x0f, __ATOMIC_RELAXED);
        __atomic_exchange_n(&word.bytes[7], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d %d %d %d\n", one, two, (int)four, (int)eight, word.bytes[3] + word.bytes[7]);
    return 0;
}
