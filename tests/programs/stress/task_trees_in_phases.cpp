// A hundred million tasks as trees, one after the other, all within one parallel region: each tree must be forgotten when it is
// finished.
//
// needs: openmp
// prints: 100015410 tasks, checksum 30909285

#include <cstdint>
#include <cstdio>

static std::uint64_t fibonacci(int n)
{
    if (n < 2)
        return static_cast<std::uint64_t>(n);
    std::uint64_t first, second;
#pragma omp task shared(first)
    first = fibonacci(n - 1);
#pragma omp task shared(second)
    second = fibonacci(n - 2);
#pragma omp taskwait
    return first + second;
}

int main()
{
    // Each call but the first one is a task.
    constexpr std::uint64_t phases = 4569, tasks_of_one = 21890;
    std::uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
    for (std::uint64_t phase = 0; phase < phases; phase++)
        sum += fibonacci(20);
    std::printf("%llu tasks, checksum %llu\n", static_cast<unsigned long long>(phases * tasks_of_one),
                static_cast<unsigned long long>(sum));
}
