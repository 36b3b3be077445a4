// Threads that create threads: each sums its half, down to single elements.
//
// prints: 2016

#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

static long sum(const std::vector<int> &numbers, std::size_t from, std::size_t to)
{
    if (to - from <= 8)
        return std::accumulate(numbers.begin() + (long)from, numbers.begin() + (long)to, 0L);
    std::size_t middle = (from + to) / 2;
    long left = 0;
    std::thread other([&] { left = sum(numbers, from, middle); });
    long right = sum(numbers, middle, to);
    other.join();
    return left + right;
}

int main()
{
    std::vector<int> numbers(64);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::printf("%ld\n", sum(numbers, 0, numbers.size()));
}
