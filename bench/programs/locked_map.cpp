// A hash map behind one mutex: short critical sections, so that taking the lock is most of the work.

#include "kernel.h"
#include <mutex>
#include <unordered_map>

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t steps = kernel.times(50e6);
    std::mutex lock;
    std::unordered_map<std::uint64_t, std::uint64_t> map;
    kernel.run([&](unsigned thread) {
        Random random(thread + 1);
        for (std::size_t i = 0; i < steps / kernel.threads; i++) {
            const std::uint64_t number = random.next();
            std::lock_guard guard(lock);
            map[number % 4096] += number >> 32;
        }
    });
    std::uint64_t checksum = 0;
    for (auto &[key, value] : map)
        checksum += (key + 1) * value;
    print_result(checksum);
}
