// A task tells a thread by a condition variable that the result is there, and writes the result after that.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <condition_variable>
#include <mutex>
#include <tbb/task_group.h>
#include <thread>

int main()
{
    with_workers([] {
        std::mutex mutex;
        std::condition_variable told;
        bool ready = false;
        int result = 0;
        std::thread reader([&] {
            std::unique_lock<std::mutex> guard(mutex);
            told.wait(guard, [&] { return ready; });
            use(result); // (A)
        });
        tbb::task_group group;
        group.run_and_wait([&] {
            {
                std::lock_guard<std::mutex> guard(mutex);
                ready = true;
            }
            told.notify_one();
            result = 42; // (B)
        });
        reader.join();
        use(result);
    });
}
