// Two threads have a group of tasks each. Each waits for its own, and the tasks of both write one variable.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>
#include <thread>

int main()
{
    with_workers([] {
        int value = 0;
        std::thread first([&] {
            tbb::task_group group;
            group.run([&] {
                value = 1; // (A)
            });
            group.wait();
        });
        std::thread second([&] {
            tbb::task_group group;
            group.run([&] {
                value = 2; // (B)
            });
            group.wait();
        });
        first.join();
        second.join();
        use(value);
    });
}
