/* Every atomic operation on every size with every order, by the compilers' own functions and by C11. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ORDERS(OPERATION, type)                                                                                                \
    OPERATION(type, __ATOMIC_RELAXED)                                                                                          \
    OPERATION(type, __ATOMIC_ACQ_REL)                                                                                          \
    OPERATION(type, __ATOMIC_SEQ_CST)

#define CHANGE(type, order)                                                                                                    \
    total += __atomic_exchange_n(at, value, order);                                                                            \
    total += __atomic_fetch_add(at, value, order);                                                                             \
    total += __atomic_fetch_sub(at, value, order);                                                                             \
    total += __atomic_fetch_and(at, value, order);                                                                             \
    total += __atomic_fetch_or(at, value, order);                                                                              \
    total += __atomic_fetch_xor(at, value, order);                                                                             \
    total += __atomic_fetch_nand(at, value, order);                                                                            \
    total += __atomic_add_fetch(at, value, order);                                                                             \
    total += __atomic_nand_fetch(at, value, order);                                                                            \
    done ^= __atomic_compare_exchange_n(at, &expected, value, false, order, __ATOMIC_RELAXED);                                 \
    done ^= __atomic_compare_exchange_n(at, &expected, value, true, order, __ATOMIC_ACQUIRE);

#define SIZE(type, name)                                                                                                       \
    type name(type *at, type value) {                                                                                          \
        type total = 0, expected = value;                                                                                      \
        bool done = false;                                                                                                     \
        total += __atomic_load_n(at, __ATOMIC_RELAXED);                                                                        \
        total += __atomic_load_n(at, __ATOMIC_CONSUME);                                                                        \
        total += __atomic_load_n(at, __ATOMIC_ACQUIRE);                                                                        \
        total += __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                        \
        __atomic_store_n(at, value, __ATOMIC_RELAXED);                                                                         \
        __atomic_store_n(at, value, __ATOMIC_RELEASE);                                                                         \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                         \
        ORDERS(CHANGE, type)                                                                                                   \
        total += __sync_fetch_and_add(at, value);                                                                              \
        total += __sync_lock_test_and_set(at, value);                                                                          \
        total += __sync_val_compare_and_swap(at, value, total);                                                                \
        done ^= __sync_bool_compare_and_swap(at, value, total);                                                                \
        __sync_lock_release(at);                                                                                               \
        return total + expected + done;                                                                                        \
    }

SIZE(uint8_t, bytes)
SIZE(uint16_t, halves)
SIZE(uint32_t, words)
SIZE(uint64_t, longs)
SIZE(int64_t, signed_longs)
SIZE(__int128, doubles)

struct pair {
    void *pointer;
    long tag;
} __attribute__((aligned(16)));

_Atomic(struct pair) head;
_Atomic(int) number;
_Atomic(double) real;
atomic_flag flag = ATOMIC_FLAG_INIT;
_Atomic(char *) text;

double c11(int order) {
    struct pair old = atomic_load(&head), new = {&head, old.tag + 1};
    atomic_compare_exchange_strong(&head, &old, new);
    number += 3;
    number |= 4;
    number--;
    real = real * 2;
    text++;
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) {
    }
    atomic_flag_clear_explicit(&flag, memory_order_release);
    /* The order is known only when it runs. */
    __atomic_fetch_add((int *)&number, 1, order);
    return atomic_load_explicit(&real, order);
}

void fences(void) {
    atomic_thread_fence(memory_order_acquire);
    atomic_thread_fence(memory_order_release);
    atomic_thread_fence(memory_order_acq_rel);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
    __sync_synchronize();
}
