// What is initialized once may be read by everybody who asked for it.
//
// needs: tbb
// prints: 8

#include "tbb_tasks.h"
#include <cstdio>
#include <mutex>
#include <tbb/blocked_range.h>
#include <tbb/collaborative_call_once.h>
#include <tbb/parallel_for.h>
#include <vector>

static const std::vector<int> &table()
{
    static const std::vector<int> table{1};
    return table;
}

int main()
{
    with_workers([] {
        tbb::collaborative_once_flag flag;
        std::once_flag standard_flag;
        int factor = 0, offset = -1;
        int results[8] = {};
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 8, 1),
            [&](const tbb::blocked_range<int> &range) {
                tbb::collaborative_call_once(flag, [&] { factor = 1; });
                std::call_once(standard_flag, [&] { offset = 0; });
                results[range.begin()] = factor * table().front() + offset;
            },
            tbb::simple_partitioner());
        int sum = 0;
        for (int result : results)
            sum += result;
        std::printf("%d\n", sum);
    });
}
