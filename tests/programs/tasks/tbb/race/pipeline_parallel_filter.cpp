// The middle filter of a pipeline works on several items at once, and adds to one sum.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/parallel_pipeline.h>

int main()
{
    with_workers([] {
        int next = 0, sum = 0, last = 0;
        auto source = tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control &control) {
            if (next == 8)
                control.stop();
            return next++;
        });
        auto middle = tbb::make_filter<int, int>(tbb::filter_mode::parallel, [&](int item) {
            sum += item; // (A)
            return item * item;
        });
        auto sink = tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int item) { last = item; });
        tbb::parallel_pipeline(4, source & middle & sink);
        use(sum + last);
    });
}
