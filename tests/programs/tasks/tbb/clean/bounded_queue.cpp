// A thread takes out of a bounded queue what tasks put in; the queue is shorter than what goes through it.
//
// needs: tbb
// prints: 120

#include "tbb_tasks.h"
#include <cstdio>
#include <memory>
#include <tbb/blocked_range.h>
#include <tbb/concurrent_queue.h>
#include <tbb/parallel_for.h>
#include <thread>

struct Order {
    int pieces;
};

int main()
{
    with_workers([] {
        tbb::concurrent_bounded_queue<Order *> queue;
        queue.set_capacity(3);
        int sum = 0;
        std::thread clerk([&] {
            for (int i = 0; i < 16; i++) {
                Order *order = nullptr;
                queue.pop(order);
                sum += order->pieces;
                delete order;
            }
        });
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 16, 1),
            [&](const tbb::blocked_range<int> &range) {
                auto order = std::make_unique<Order>();
                order->pieces = range.begin();
                queue.push(order.release());
            },
            tbb::simple_partitioner());
        clerk.join();
        std::printf("%d\n", sum);
    });
}
