// Reductions of loops: each thread has a copy, and the copies are put together by the runtime. Another operator than the
// built-in ones does the same.
//
// needs: openmp
// prints: 4950 99 4950

#include <cstdio>

struct Range {
    int least = 1000;
    int greatest = -1000;

    void add(int value)
    {
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
};

#pragma omp declare reduction(unite : Range : omp_out.add(omp_in.least), omp_out.add(omp_in.greatest))

int main()
{
    int sum = 0, parts[2] = {0, 0};
    Range range;
#pragma omp parallel for reduction(+ : sum) reduction(unite : range) reduction(+ : parts[ : 2])
    for (int i = 0; i < 100; i++) {
        sum += i;
        parts[i % 2] += i;
        range.add(i);
    }
    std::printf("%d %d %d\n", sum, range.greatest - range.least, parts[0] + parts[1]);
}
