// Counters under every kind of mutex that excludes, taken by scoped locks, by hand, by trying, and recursively.
//
// needs: tbb
// prints: 8 8 8 8 8 8 8

#include "tbb_tasks.h"
#include <cstdio>
#include <mutex>
#include <tbb/blocked_range.h>
#include <oneapi/tbb/mutex.h>
#include <tbb/parallel_for.h>
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>

template <typename Body> static void eight_tasks(Body body)
{
    using Range = tbb::blocked_range<int>;
    tbb::parallel_for(Range(0, 8, 1), [&](const Range &) { body(); }, tbb::simple_partitioner());
}

template <typename Mutex> static int scoped()
{
    Mutex mutex;
    int count = 0;
    eight_tasks([&] {
        typename Mutex::scoped_lock guard(mutex);
        count++;
    });
    return count;
}

template <typename Mutex> static int by_hand()
{
    Mutex mutex;
    int count = 0;
    eight_tasks([&] {
        while (!mutex.try_lock()) {
        }
        count++;
        mutex.unlock();
    });
    return count;
}

static int acquired_and_released()
{
    tbb::queuing_mutex mutex;
    int count = 0;
    eight_tasks([&] {
        tbb::queuing_mutex::scoped_lock guard;
        if (!guard.try_acquire(mutex))
            guard.acquire(mutex);
        count++;
        guard.release();
    });
    return count;
}

static int recursive()
{
    std::recursive_mutex mutex;
    int count = 0;
    eight_tasks([&] {
        std::lock_guard<std::recursive_mutex> outer(mutex);
        {
            std::lock_guard<std::recursive_mutex> inner(mutex);
        }
        count++;
    });
    return count;
}

int main()
{
    with_workers([] {
        std::printf("%d ", scoped<tbb::spin_mutex>());
        std::printf("%d ", scoped<tbb::queuing_mutex>());
        std::printf("%d ", scoped<tbb::speculative_spin_mutex>());
        std::printf("%d ", scoped<tbb::mutex>());
        std::printf("%d ", by_hand<tbb::spin_mutex>());
        std::printf("%d ", acquired_and_released());
        std::printf("%d\n", recursive());
    });
}
