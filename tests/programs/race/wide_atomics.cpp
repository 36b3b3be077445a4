// Atomics of more than eight bytes that are used in the wrong order, or next to accesses that are not atomic.
//
// cc: -latomic
// expect: data-race (set-one) (use-one)
// expect: data-race (set-two) (use-two)
// expect: data-race (store-large) (plain-large)
// expect: data-race (add) (plain-counter)

#include "../support/schedule.h"
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

struct alignas(16) Pair {
    std::uint64_t value, version;
};

struct Large {
    std::uint64_t values[5];
};

std::atomic<Pair> pair{Pair{0, 0}};
std::atomic<Large> large{Large{{0, 0, 0, 0, 0}}};
Large bare;
alignas(16) unsigned __int128 counter;
int one, two;
std::uint64_t seen;

static void publish()
{
    one = 1; // (set-one)
    pair.store(Pair{7, 1}, std::memory_order_relaxed);
    two = 2; // (set-two)
    large.store(Large{{1, 2, 3, 4, 5}}, std::memory_order_relaxed);
    Large next = {{6, 7, 8, 9, 10}};
    __atomic_store(&bare, &next, __ATOMIC_RELAXED);         // (store-large)
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);      // (add)
    moment_reached(1);
}

static void take()
{
    await_moment(1);
    if (pair.load(std::memory_order_acquire).version != 1)
        std::abort();
    seen += one; // (use-one)
    if (large.load(std::memory_order_acquire).values[4] != 5)
        std::abort();
    seen += two;                                // (use-two)
    seen += bare.values[4];                     // (plain-large)
    seen += static_cast<std::uint64_t>(counter); // (plain-counter)
}

int main()
{
    std::thread publisher(publish), taker(take);
    publisher.join();
    taker.join();
    return seen == 1 + 2 + 10 + 1 ? 0 : 1;
}
