// Objects go through a concurrent queue: filled by the task that pushes them, changed and freed by the one that pops.
// Some are taken out while others are still put in, the rest after that.
//
// needs: tbb
// prints: 120

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/concurrent_priority_queue.h>
#include <tbb/concurrent_queue.h>
#include <tbb/parallel_for.h>

struct Order {
    int pieces;
};

int main()
{
    with_workers([] {
        tbb::concurrent_queue<Order *> queue;
        tbb::concurrent_priority_queue<int> urgent;
        int taken[32] = {};
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 32, 1),
            [&](const tbb::blocked_range<int> &range) {
                int i = range.begin();
                if (i % 2 == 0) {
                    queue.push(new Order{i / 2});
                    urgent.push(i);
                    return;
                }
                Order *order = nullptr;
                if (queue.try_pop(order)) {
                    order->pieces++;
                    taken[i] = order->pieces - 1;
                    delete order;
                }
                int number = 0;
                urgent.try_pop(number);
            },
            tbb::simple_partitioner());
        int sum = 0;
        for (int pieces : taken)
            sum += pieces;
        Order *order = nullptr;
        while (queue.try_pop(order)) {
            sum += order->pieces;
            delete order;
        }
        std::printf("%d\n", sum);
    });
}
