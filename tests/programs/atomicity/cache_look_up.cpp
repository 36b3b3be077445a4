// A cache is asked and, on a miss, filled: two operations under the lock, so that the value is computed twice.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation Cache::get
// prints: computed 2 times

#include "schedule.h"
#include <cstdio>
#include <keirin.h>
#include <map>
#include <mutex>
#include <thread>

class Cache {
public:
    template <typename Compute> int get(int key, Compute compute)
    {
        int value = 0;
        KEIRIN_ATOMIC("Cache::get")
        {
            if (!find(key, value)) {
                value = compute(key);
                std::lock_guard guard(lock_);
                values_[key] = value;
                computed_++;
            }
        }
        return value;
    }
    int computed() const { return computed_; }

private:
    bool find(int key, int &value)
    {
        std::lock_guard guard(lock_);
        auto found = values_.find(key);
        if (found == values_.end())
            return false;
        value = found->second;
        return true;
    }

    std::mutex lock_;
    std::map<int, int> values_;
    int computed_ = 0;
};

int main()
{
    Cache cache;
    std::thread slow([&] {
        cache.get(3, [](int key) {
            moment_reached(1);
            await_moment(2);
            return key * key;
        });
    });
    std::thread fast([&] {
        await_moment(1);
        cache.get(3, [](int key) { return key * key; });
        moment_reached(2);
    });
    slow.join();
    fast.join();
    std::printf("computed %d times\n", cache.computed());
}
