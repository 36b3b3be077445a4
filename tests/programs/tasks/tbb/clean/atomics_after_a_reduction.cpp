// Where a reduction had its own variables on the stack the program has atomic variables later, and another reduction reads them.
//
// needs: tbb
// prints: 28
// prints: 2048

#include "tbb_tasks.h"
#include <atomic>
#include <cstdio>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

template <typename Term> static int sum(int count, int grain, const Term &term)
{
    return tbb::parallel_reduce(
        tbb::blocked_range<int>(0, count, grain), 0,
        [&](const tbb::blocked_range<int> &range, int part) {
            for (int i = range.begin(); i < range.end(); i++)
                part += term(i);
            return part;
        },
        std::plus<int>(), tbb::simple_partitioner());
}

__attribute__((noinline)) static int before()
{
    return sum(8, 1, [](int i) { return i; });
}

__attribute__((noinline)) static int after()
{
    std::atomic<int> ones[2048];
    for (auto &one : ones)
        one.store(1);
    return sum(2048, 256, [&](int i) { return ones[i].load(); });
}

int main()
{
    with_workers([] {
        std::printf("%d\n", before());
        std::printf("%d\n", after());
    });
}
