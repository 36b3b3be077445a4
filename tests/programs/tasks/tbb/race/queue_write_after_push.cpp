// An order is written after it was put into the queue. The thread that takes it out, and always gets it, may see it
// half finished.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/concurrent_queue.h>
#include <tbb/task_group.h>
#include <thread>

struct Order {
    int item = 0;
    int pieces = 0;
};

int main()
{
    with_workers([] {
        tbb::concurrent_bounded_queue<Order *> queue;
        Order order;
        std::thread clerk([&] {
            Order *next = nullptr;
            queue.pop(next);
            use(next->item);
            use(next->pieces); // (A)
        });
        tbb::task_group group;
        group.run_and_wait([&] {
            order.item = 12;
            queue.push(&order);
            order.pieces = 3; // (B)
        });
        clerk.join();
        use(order.pieces);
    });
}
