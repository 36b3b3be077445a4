// Each element is made from the one before it. Within a block of four that is right; where two blocks meet it is not.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

int main()
{
    with_workers([] {
        int sums[33] = {};
        tbb::parallel_for(
            tbb::blocked_range<int>(1, 33, 4),
            [&](const tbb::blocked_range<int> &range) {
                for (int i = range.begin(); i < range.end(); i++) {
                    int before = sums[i - 1]; // (A)
                    sums[i] = before + i; // (B)
                    keep_apart();
                }
            },
            tbb::simple_partitioner());
        use(sums[32]);
    });
}
