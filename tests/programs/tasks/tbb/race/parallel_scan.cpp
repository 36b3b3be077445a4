// The running sums are right; how often the body was called is counted in one variable.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>

int main()
{
    with_workers([] {
        int sums[64];
        int calls = 0;
        tbb::parallel_scan(
            tbb::blocked_range<int>(0, 64, 8), 0,
            [&](const tbb::blocked_range<int> &range, int sum, bool is_final) {
                calls++; // (A)
                for (int i = range.begin(); i < range.end(); i++) {
                    sum += i;
                    if (is_final)
                        sums[i] = sum;
                }
                return sum;
            },
            std::plus<int>(), tbb::simple_partitioner());
        use(sums[63] + calls);
    });
}
