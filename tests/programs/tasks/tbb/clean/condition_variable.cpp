// A task and a thread hand a number to and fro by a condition variable; it is touched only under the lock.
//
// needs: tbb
// prints: 10

#include "tbb_tasks.h"
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <tbb/task_group.h>
#include <thread>

int main()
{
    with_workers([] {
        std::mutex mutex;
        std::condition_variable changed;
        int number = 0;
        auto play = [&](int turn) {
            for (int i = 0; i < 5; i++) {
                std::unique_lock<std::mutex> guard(mutex);
                changed.wait(guard, [&] { return number % 2 == turn; });
                number++;
                changed.notify_one();
            }
        };
        std::thread partner([&] { play(1); });
        tbb::task_group group;
        group.run_and_wait([&] { play(0); });
        partner.join();
        std::printf("%d\n", number);
    });
}
