// Each worker adds to a copy of its own; the copies are put together when all tasks are done. Two tasks on one worker
// share its copy, and do not run at the same time.
//
// needs: tbb
// prints: 2016 64 32

#include "tbb_tasks.h"
#include <cstdio>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/combinable.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

thread_local int calls;

int main()
{
    with_workers([] {
        tbb::enumerable_thread_specific<int> sums(0);
        using Aligned = tbb::cache_aligned_allocator<int>;
        tbb::enumerable_thread_specific<int, Aligned, tbb::ets_key_per_instance> iterations(0);
        tbb::combinable<int> blocks([] { return 0; });
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 64, 2),
            [&](const tbb::blocked_range<int> &range) {
                calls++;
                blocks.local()++;
                for (int i = range.begin(); i < range.end(); i++) {
                    sums.local() += i;
                    iterations.local()++;
                }
            },
            tbb::simple_partitioner());
        int sum = 0;
        for (int part : sums)
            sum += part;
        std::printf("%d %d %d\n", sum, iterations.combine(std::plus<int>()), blocks.combine(std::plus<int>()));
    });
}
