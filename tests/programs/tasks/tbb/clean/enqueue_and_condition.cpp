// A function that is enqueued in an arena belongs to no group. It tells by a condition variable that it is done, and
// what it leaves behind is read under the same lock.
//
// needs: tbb
// prints: 42

#include "tbb_tasks.h"
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <tbb/task_arena.h>

struct Answer {
    std::mutex mutex;
    std::condition_variable told;
    bool ready = false;
    int value = 0;
};

int main()
{
    with_workers([] {
        auto answer = std::make_shared<Answer>();
        tbb::task_arena arena(2);
        arena.enqueue([answer] {
            std::lock_guard<std::mutex> guard(answer->mutex);
            answer->value = 42;
            answer->ready = true;
            answer->told.notify_one();
        });
        std::unique_lock<std::mutex> guard(answer->mutex);
        answer->told.wait(guard, [&] { return answer->ready; });
        std::printf("%d\n", answer->value);
    });
}
