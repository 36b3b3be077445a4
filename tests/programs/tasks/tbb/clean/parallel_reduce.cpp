// Sums by reduction: with functions, with a body object that is split and joined, and in a fixed order.
//
// needs: tbb
// prints: 2016 2016 2016

#include "tbb_tasks.h"
#include <cstdio>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

using Range = tbb::blocked_range<int>;

struct Sum {
    int value = 0;

    Sum() = default;
    Sum(Sum &, tbb::split) {}
    void operator()(const Range &range)
    {
        for (int i = range.begin(); i < range.end(); i++)
            value += i;
    }
    void join(Sum &right) { value += right.value; }
};

int main()
{
    with_workers([] {
        auto add = [](const Range &range, int part) {
            for (int i = range.begin(); i < range.end(); i++)
                part += i;
            return part;
        };
        int by_functions = tbb::parallel_reduce(Range(0, 64, 4), 0, add, std::plus<int>(), tbb::simple_partitioner());
        Sum by_body;
        tbb::parallel_reduce(Range(0, 64), by_body);
        int in_order = tbb::parallel_deterministic_reduce(Range(0, 64, 4), 0, add, std::plus<int>());
        std::printf("%d %d %d\n", by_functions, by_body.value, in_order);
    });
}
