// Atomics that compilers leave to libatomic, or do with 128 bits at once: pairs, and what is too large for any instruction.
// What they publish is ordered.
//
// cc: -latomic
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

struct Odd {
    char letters[11];
};

static std::atomic<Pair> pair{Pair{0, 0}};
static std::atomic<Large> large{Large{{0, 0, 0, 0, 0}}};
static std::atomic<Odd> odd{Odd{{0}}};
alignas(16) static unsigned __int128 counter;
static int by_pair, by_large, by_odd, by_counter, by_exchange;

static void check(bool holds)
{
    if (!holds)
        std::abort();
}

static void publish()
{
    by_pair = 1;
    Pair expected{0, 0};
    check(pair.compare_exchange_strong(expected, Pair{7, 1}, std::memory_order_release, std::memory_order_relaxed));
    by_large = 2;
    large.store(Large{{1, 2, 3, 4, 5}}, std::memory_order_release);
    by_odd = 3;
    odd.store(Odd{{'o', 'd', 'd'}}, std::memory_order_release);
    by_counter = 4;
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELEASE);
    by_exchange = 5;
    check(pair.exchange(Pair{8, 2}, std::memory_order_acq_rel).value == 7);
}

static void take()
{
    while (pair.load(std::memory_order_acquire).version == 0)
        std::this_thread::yield();
    check(by_pair == 1);
    while (large.load(std::memory_order_acquire).values[4] == 0)
        std::this_thread::yield();
    check(by_large == 2);
    while (odd.load(std::memory_order_acquire).letters[0] == 0)
        std::this_thread::yield();
    check(by_odd == 3);
    while (__atomic_load_n(&counter, __ATOMIC_ACQUIRE) == 0)
        std::this_thread::yield();
    check(by_counter == 4);
    Pair expected{8, 2};
    while (!pair.compare_exchange_weak(expected, Pair{9, 3})) {
        expected = Pair{8, 2};
        std::this_thread::yield();
    }
    check(by_exchange == 5);
}

// Both change it; nothing is lost.
static void add()
{
    for (int i = 0; i < 200; i++) {
        Large seen = large.load(), next;
        do {
            next = seen;
            next.values[0]++;
            next.values[4]++;
        } while (!large.compare_exchange_strong(seen, next));
    }
}

int main()
{
    std::thread publisher(publish), taker(take);
    publisher.join();
    taker.join();
    std::thread first(add), second(add);
    first.join();
    second.join();
    Large end = large.load();
    check(end.values[0] == 401 && end.values[4] == 405);
    check(pair.load().value == 9);
    return 0;
}
