// Array sweep: integers and doubles are read and written in order, each thread its own part, several times.

#include "kernel.h"

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t size = 1 << 19;
    const std::size_t rounds = kernel.times(1000);
    std::vector<std::uint32_t> numbers(size, 1);
    std::vector<double> values(size, 1.0);
    kernel.run([&](unsigned thread) {
        const std::size_t from = size * thread / kernel.threads, to = size * (thread + 1) / kernel.threads;
        for (std::size_t round = 0; round < rounds; round++) {
            for (std::size_t i = from; i < to; i++)
                numbers[i] = numbers[i] * 3 + static_cast<std::uint32_t>(i);
            for (std::size_t i = from; i < to; i++)
                values[i] = values[i] * 0.5 + 1.25;
        }
    });
    std::uint64_t checksum = 0;
    for (std::size_t i = 0; i < size; i++)
        checksum = checksum * 31 + numbers[i] + static_cast<std::uint64_t>(values[i] * 1000);
    print_result(checksum);
}
