// A sequence lock whose data are relaxed atomics, ordered by fences: readers never write, and never see half a change.
//
// prints: consistent

#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<unsigned> sequence{0};
static std::atomic<int> seconds{0}, nanoseconds{0};

static void set(int value)
{
    unsigned now = sequence.load(std::memory_order_relaxed);
    sequence.store(now + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    seconds.store(value, std::memory_order_relaxed);
    nanoseconds.store(-value, std::memory_order_relaxed);
    sequence.store(now + 2, std::memory_order_release);
}

static int sum()
{
    for (;;) {
        unsigned before = sequence.load(std::memory_order_acquire);
        int first = seconds.load(std::memory_order_relaxed);
        int second = nanoseconds.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before % 2 == 0 && sequence.load(std::memory_order_relaxed) == before)
            return first + second;
        std::this_thread::yield();
    }
}

int main()
{
    std::thread clock([] {
        for (int i = 0; i < 1000; i++)
            set(i);
    });
    int wrong = 0;
    for (int i = 0; i < 1000; i++)
        wrong += sum() != 0;
    clock.join();
    std::puts(wrong ? "torn" : "consistent");
}
