// A mutex of the standard library in tasks: one of them does not take it.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <mutex>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        std::mutex mutex;
        int balance = 100;
        tbb::task_group group;
        group.run([&] {
            std::lock_guard<std::mutex> guard(mutex);
            balance += 10; // (A)
        });
        group.run([&] {
            use(balance); // (B)
        });
        group.wait();
        use(balance);
    });
}
