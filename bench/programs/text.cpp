// Text, byte by byte: words of a generated text are found, changed to upper case in place, hashed and counted.

#include "kernel.h"

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t rounds = kernel.times(60);
    const std::size_t size = 4 << 20;
    std::vector<char> text(size);
    Random random(3);
    for (auto &letter : text) {
        const std::uint64_t number = random.next() % 32;
        letter = number < 26 ? static_cast<char>('a' + number) : ' ';
    }
    std::vector<std::vector<std::uint32_t>> counts(kernel.threads, std::vector<std::uint32_t>(256));
    kernel.run([&](unsigned thread) {
        const std::size_t from = size * thread / kernel.threads, to = size * (thread + 1) / kernel.threads;
        auto &own = counts[thread];
        for (std::size_t round = 0; round < rounds; round++) {
            std::uint32_t hash = 0;
            for (std::size_t i = from; i < to; i++) {
                const char letter = text[i];
                if (letter == ' ') {
                    own[hash % 256]++;
                    hash = 0;
                } else {
                    hash = hash * 33 + static_cast<unsigned char>(letter);
                    text[i] = static_cast<char>(letter ^ 0x20);
                }
            }
        }
    });
    std::uint64_t checksum = 0;
    for (auto &own : counts)
        for (std::uint32_t count : own)
            checksum = checksum * 31 + count;
    print_result(checksum);
}
