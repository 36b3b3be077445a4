// The same block in two filters: a serial filter takes one item at a time, and nothing comes between; a parallel one
// does not.
//
// needs: tbb
// expect: atomicity-violation parallel filter

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/spin_mutex.h>

using Guard = tbb::spin_mutex::scoped_lock;

struct Statistics {
    tbb::spin_mutex lock;
    int items = 0;

    void add()
    {
        Guard guard(lock);
        items++;
    }
};

int main()
{
    with_workers([] {
        int next = 0;
        Statistics middle_statistics, sink_statistics;
        auto source = tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control &control) {
            if (next == 6)
                control.stop();
            return next++;
        });
        auto middle = tbb::make_filter<int, int>(tbb::filter_mode::parallel, [&](int item) {
            KEIRIN_ATOMIC("parallel filter")
            {
                middle_statistics.add();
                middle_statistics.add();
            }
            return item;
        });
        auto sink = tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int item) {
            KEIRIN_ATOMIC("serial filter")
            {
                sink_statistics.add();
                sink_statistics.add();
            }
            use(item);
        });
        tbb::parallel_pipeline(4, source & middle & sink);
    });
}
