// Loops of tasks within a loop of tasks: the runtime copies descriptors, and uses their memory again and again.
//
// needs: openmp
// prints: 56448

#include <cstdio>
#include <vector>

int main()
{
    std::vector<long> sums(64);
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1) shared(sums)
    for (long i = 0; i < 64; i++) {
        std::vector<long> parts(8);
#pragma omp taskloop grainsize(1) shared(parts) firstprivate(i)
        for (long j = 0; j < 8; j++)
            parts[static_cast<std::size_t>(j)] = i * j;
        for (long part : parts)
            sums[static_cast<std::size_t>(i)] += part;
    }
    long total = 0;
    for (long sum : sums)
        total += sum;
    std::printf("%ld\n", total);
}
