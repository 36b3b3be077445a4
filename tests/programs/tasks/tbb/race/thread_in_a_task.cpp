// A task starts a thread and joins it. The thread belongs to the task, and runs beside the task's sibling.
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
        tbb::task_group group;
        group.run([&] {
            std::thread helper([&] {
                value = 1; // (A)
            });
            helper.join();
        });
        group.run([&] {
            value = 2; // (B)
        });
        group.wait();
        use(value);
    });
}
