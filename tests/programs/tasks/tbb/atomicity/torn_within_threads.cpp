// A thread of the program looks twice; a task that another thread spawned writes in between.
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
        std::thread watcher([] {
            KEIRIN_ATOMIC("look twice")
            {
                look();
                look();
            }
        });
        std::thread changer([] {
            tbb::task_group group;
            group.run([] {
                std::lock_guard<std::mutex> guard(mutex);
                value = 1;
            });
            group.wait();
        });
        watcher.join();
        changer.join();
    });
}
