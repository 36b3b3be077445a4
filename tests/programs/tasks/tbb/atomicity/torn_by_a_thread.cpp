// A thread that a task started writes between the two sections of another task's block.
//
// needs: tbb
// expect: atomicity-violation look twice

#include "tbb_tasks.h"
#include <keirin.h>
#include <mutex>
#include <tbb/task_group.h>
#include <thread>

std::mutex mutex;
int value;

static void look()
{
    std::lock_guard<std::mutex> guard(mutex);
    use(value);
}

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run([] {
            KEIRIN_ATOMIC("look twice")
            {
                look();
                look();
            }
        });
        group.run([] {
            std::thread helper([] {
                std::lock_guard<std::mutex> guard(mutex);
                value = 1;
            });
            helper.join();
        });
        group.wait();
    });
}
