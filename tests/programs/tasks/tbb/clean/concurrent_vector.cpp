// Tasks append to a concurrent vector while it grows and read what was there before they began; each writes the
// elements that it has appended.
//
// needs: tbb
// prints: 129 2080

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/concurrent_vector.h>
#include <tbb/parallel_for.h>

int main()
{
    with_workers([] {
        tbb::concurrent_vector<int> numbers;
        numbers.push_back(1);
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 64, 4),
            [&](const tbb::blocked_range<int> &range) {
                for (int i = range.begin(); i < range.end(); i++) {
                    auto added = numbers.grow_by(2);
                    *added = i * numbers[0];
                    *++added = 1;
                }
            },
            tbb::simple_partitioner());
        int sum = 0;
        for (int number : numbers)
            sum += number;
        std::printf("%zu %d\n", numbers.size(), sum - 1);
    });
}
