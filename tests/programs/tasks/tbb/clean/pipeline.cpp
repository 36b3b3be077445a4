// A pipeline with all kinds of filters: a serial one keeps state of its own, a parallel one works on its item only.
// Items are objects on the heap that go from filter to filter.
//
// needs: tbb
// prints: 12 650 in order

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/parallel_pipeline.h>

struct Item {
    int number = 0;
    int square = 0;
};

int main()
{
    with_workers([] {
        int next = 0, seen = 0, sum = 0, last = 0;
        bool in_order = true;
        auto read = [&](tbb::flow_control &control) {
            Item *item = nullptr;
            if (next == 12) {
                control.stop();
            } else {
                item = new Item;
                item->number = ++next;
            }
            return item;
        };
        auto source = tbb::make_filter<void, Item *>(tbb::filter_mode::serial_in_order, read);
        auto middle = tbb::make_filter<Item *, Item *>(tbb::filter_mode::parallel, [](Item *item) {
            item->square = item->number * item->number;
            return item;
        });
        auto any_order = tbb::make_filter<Item *, Item *>(tbb::filter_mode::serial_out_of_order, [&](Item *item) {
            seen++;
            return item;
        });
        auto sink = tbb::make_filter<Item *, void>(tbb::filter_mode::serial_in_order, [&](Item *item) {
            sum += item->square;
            in_order = in_order && item->number == last + 1;
            last = item->number;
            delete item;
        });
        tbb::parallel_pipeline(4, source & middle & any_order & sink);
        std::printf("%d %d %s\n", seen, sum, in_order ? "in order" : "mixed up");
    });
}
