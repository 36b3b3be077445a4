// Each of two serial filters takes one item at a time, but the one reads the next item while the other writes the one
// before. What they share is not protected.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/parallel_pipeline.h>

int main()
{
    with_workers([] {
        int next = 0, line = 0;
        auto source = tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control &control) {
            if (next == 8) {
                control.stop();
                return 0;
            }
            line = next; // (A)
            return next++;
        });
        auto sink =
            tbb::make_filter<int, void>(tbb::filter_mode::serial_out_of_order, [&](int item) {
                use(line); // (B)
                use(item);
            });
        tbb::parallel_pipeline(4, source & sink);
    });
}
