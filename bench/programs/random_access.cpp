// Random access in 64 MB that all threads read and each writes its own half of.

#include "kernel.h"

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t size = (64u << 20) / sizeof(std::uint64_t);
    const std::size_t steps = kernel.times(30e6);
    std::vector<std::uint64_t> table(size);
    for (std::size_t i = 0; i < size; i++)
        table[i] = i;
    std::vector<std::uint64_t> sums(kernel.threads);
    kernel.run([&](unsigned thread) {
        const std::size_t part = size / kernel.threads, from = part * thread;
        Random random(thread + 1);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < steps / kernel.threads; i++) {
            std::uint64_t number = random.next();
            std::uint64_t &entry = table[from + number % part];
            sum += entry;
            entry = sum ^ number;
        }
        sums[thread] = sum;
    });
    std::uint64_t checksum = 0;
    for (std::uint64_t sum : sums)
        checksum = checksum * 31 + sum;
    print_result(checksum);
}
