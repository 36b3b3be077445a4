// Product of two matrices of doubles; all threads read both, each writes rows of its own.

#include "kernel.h"

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t size = 360;
    const std::size_t rounds = kernel.times(14);
    std::vector<double> left(size * size), right(size * size), product(size * size);
    for (std::size_t i = 0; i < size * size; i++) {
        left[i] = static_cast<double>(i % 17);
        right[i] = static_cast<double>(i % 13);
    }
    kernel.run([&](unsigned thread) {
        const std::size_t from = size * thread / kernel.threads, to = size * (thread + 1) / kernel.threads;
        for (std::size_t round = 0; round < rounds; round++)
            for (std::size_t row = from; row < to; row++)
                for (std::size_t column = 0; column < size; column++) {
                    double sum = 0;
                    for (std::size_t i = 0; i < size; i++)
                        sum += left[row * size + i] * right[i * size + column];
                    product[row * size + column] = sum;
                }
    });
    std::uint64_t checksum = 0;
    for (double value : product)
        checksum = checksum * 31 + static_cast<std::uint64_t>(value);
    print_result(checksum);
}
