// Ten million tiny allocations by two threads, of which only a few are alive at any time: what is known of memory must
// go with it.
//
// prints: 10000000 blocks, checksum 31999996000000

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

struct Block {
    std::uint64_t value;
    Block *next;
};

static std::uint64_t allocate(std::uint64_t from, std::uint64_t to)
{
    constexpr unsigned window = 1000;
    static thread_local Block *alive[window];
    std::uint64_t sum = 0;
    for (std::uint64_t i = from; i < to; i++) {
        Block *&slot = alive[i % window];
        delete slot;
        slot = new Block{i, nullptr};
        sum += slot->value;
        if (i % 4 == 0) {
            // Sizes change, so that memory is cut in other ways each time.
            auto *bytes = static_cast<volatile char *>(std::malloc(1 + i % 40));
            bytes[0] = 1;
            std::free(const_cast<char *>(bytes));
        }
    }
    for (Block *block : alive)
        delete block;
    return sum;
}

int main()
{
    constexpr std::uint64_t half = 4'000'000;
    std::uint64_t first = 0, second = 0;
    std::thread one([&] { first = allocate(0, half); });
    std::thread two([&] { second = allocate(half, 2 * half); });
    one.join();
    two.join();
    std::printf("10000000 blocks, checksum %llu\n", (unsigned long long)(first + second));
}
