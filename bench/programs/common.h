// What kernels with threads and applications with tasks share: numbers that are the same everywhere, and a result to compare.
#ifndef COMMON_H
#define COMMON_H

#include <cstddef>
#include <cstdint>
#include <cstdio>

// A generator of numbers that is the same everywhere.
struct Random {
    std::uint64_t state;

    explicit Random(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}

    std::uint64_t next()
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    }
};

inline void print_result(std::uint64_t checksum)
{
    std::printf("%016llx\n", static_cast<unsigned long long>(checksum));
}

#endif
