// The sum is reduced as it should be; where the last block began is noted on the side, by all blocks.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

int main()
{
    with_workers([] {
        int begin = 0;
        int sum = tbb::parallel_deterministic_reduce(
            tbb::blocked_range<int>(0, 64, 8), 0,
            [&](const tbb::blocked_range<int> &range, int part) {
                begin = range.begin(); // (A)
                for (int i = range.begin(); i < range.end(); i++)
                    part += i;
                return part;
            },
            std::plus<int>(), tbb::simple_partitioner());
        use(sum + begin);
    });
}
