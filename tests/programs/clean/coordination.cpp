// What C++20 has to coordinate threads: latch, barrier, semaphore, and waiting for an atomic.
//
// prints: 10 20 30 3

#include <atomic>
#include <barrier>
#include <cstdio>
#include <latch>
#include <semaphore>
#include <thread>

static std::latch prepared{2};
static std::barrier round_over{2};
static std::binary_semaphore turn{0};
static std::atomic<int> result{0};
int from_latch, from_barrier, from_semaphore, from_atomic;

int main()
{
    std::thread other([] {
        from_latch = 10;
        prepared.arrive_and_wait();
        from_barrier = 20;
        round_over.arrive_and_wait();
        from_semaphore = 30;
        turn.release();
        from_atomic = 3;
        result.store(1, std::memory_order_release);
        result.notify_one();
    });
    prepared.arrive_and_wait();
    int first = from_latch;
    round_over.arrive_and_wait();
    int second = from_barrier;
    turn.acquire();
    int third = from_semaphore;
    result.wait(0, std::memory_order_acquire);
    std::printf("%d %d %d %d\n", first, second, third, from_atomic);
    other.join();
}
