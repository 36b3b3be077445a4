// A hundred million tasks in phases of a thousand, all within one parallel region: what is known of finished phases must go.
//
// needs: openmp
// prints: 100000000 tasks, checksum 49950000000

#include <cstdint>
#include <cstdio>

int main()
{
    constexpr std::uint64_t phases = 100000, width = 1000;
    static std::uint64_t cells[width];
#pragma omp parallel
#pragma omp single
    for (std::uint64_t phase = 0; phase < phases; phase++) {
        for (std::uint64_t i = 0; i < width; i++) {
#pragma omp task firstprivate(i)
            cells[i] += i;
        }
#pragma omp taskwait
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t cell : cells)
        sum += cell;
    std::printf("%llu tasks, checksum %llu\n", static_cast<unsigned long long>(phases * width),
                static_cast<unsigned long long>(sum));
}
