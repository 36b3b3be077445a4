// A histogram of atomic counters that all threads add to in relaxed order, and a counter in the strongest order.

#include "kernel.h"
#include <atomic>

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t steps = kernel.times(220e6);
    std::vector<std::atomic<std::uint32_t>> buckets(1024);
    std::atomic<std::uint64_t> done{0};
    kernel.run([&](unsigned thread) {
        Random random(thread + 1);
        for (std::size_t i = 0; i < steps / kernel.threads; i++) {
            buckets[random.next() >> 54].fetch_add(1, std::memory_order_relaxed);
            if (i % 8 == 0)
                done.fetch_add(1);
        }
    });
    std::uint64_t checksum = done.load();
    for (auto &bucket : buckets)
        checksum = checksum * 31 + bucket.load();
    print_result(checksum);
}
