// A weak reference is taken only if there are strong ones left. The test and the increment are atomic each; the last
// strong reference goes in between, and the dead object comes back.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation Counted::try_acquire
// prints: acquired after the end

#include "schedule.h"
#include <atomic>
#include <cstdio>
#include <keirin.h>
#include <thread>

struct Counted {
    std::atomic<int> strong{1};
    std::atomic<bool> ended{false};

    bool try_acquire()
    {
        bool acquired = false;
        KEIRIN_ATOMIC("Counted::try_acquire")
        {
            if (strong.load() > 0) {
                moment_reached(1);
                await_moment(2);
                strong.fetch_add(1);
                acquired = true;
            }
        }
        return acquired;
    }
    void release()
    {
        if (strong.fetch_sub(1) == 1)
            ended.store(true);
    }
};

int main()
{
    Counted object;
    std::thread taker([&] {
        if (object.try_acquire() && object.ended.load())
            std::puts("acquired after the end");
    });
    std::thread owner([&] {
        await_moment(1);
        object.release();
        moment_reached(2);
    });
    taker.join();
    owner.join();
}
