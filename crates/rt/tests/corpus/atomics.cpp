// Atomic objects of C++, of every size and with orders that are known and not.
#include <atomic>
#include <cstdint>

template <class T> T operations(std::atomic<T> &object, T value, std::memory_order order) {
    T expected = value;
    object.store(value, std::memory_order_release);
    object.store(value, order);
    T sum = object.load(std::memory_order_consume) + object.load(order);
    sum += object.exchange(value, std::memory_order_acq_rel);
    object.compare_exchange_weak(expected, value, std::memory_order_release, std::memory_order_relaxed);
    object.compare_exchange_strong(expected, value, std::memory_order_seq_cst);
    object.compare_exchange_strong(expected, value, order);
    return sum + expected;
}

template <class T> T numbers(std::atomic<T> &object, T value) {
    T sum = operations(object, value, std::memory_order_seq_cst);
    sum += object.fetch_add(value) + object.fetch_sub(value, std::memory_order_relaxed);
    sum += object.fetch_and(value) + object.fetch_or(value) + object.fetch_xor(value);
    return sum + object++ + --object;
}

template std::uint8_t numbers(std::atomic<std::uint8_t> &, std::uint8_t);
template std::int16_t numbers(std::atomic<std::int16_t> &, std::int16_t);
template std::uint32_t numbers(std::atomic<std::uint32_t> &, std::uint32_t);
template std::int64_t numbers(std::atomic<std::int64_t> &, std::int64_t);
template __int128 operations(std::atomic<__int128> &, __int128, std::memory_order);
template double operations(std::atomic<double> &, double, std::memory_order);
template bool operations(std::atomic<bool> &, bool, std::memory_order);

struct alignas(16) Tagged {
    void *pointer;
    std::uintptr_t tag;
};

std::atomic<Tagged> top;

bool push(void *pointer) {
    Tagged old = top.load(std::memory_order_acquire);
    return top.compare_exchange_weak(old, Tagged{pointer, old.tag + 1}, std::memory_order_acq_rel, std::memory_order_acquire);
}

void fences() {
    std::atomic_thread_fence(std::memory_order_acquire);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic_signal_fence(std::memory_order_release);
}
