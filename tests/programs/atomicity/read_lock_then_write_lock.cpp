// A reader finds that something is missing, gives up its shared lock and takes the exclusive one. What it has read may be
// out of date by then.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation Registry::intern
// prints: 2 entries

#include "schedule.h"
#include <algorithm>
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

class Registry {
public:
    template <typename Between> void intern(const std::string &name, Between between)
    {
        KEIRIN_ATOMIC("Registry::intern")
        {
            if (!known(name)) {
                between();
                std::unique_lock guard(lock_);
                names_.push_back(name);
            }
        }
    }
    std::size_t size()
    {
        std::shared_lock guard(lock_);
        return names_.size();
    }

private:
    bool known(const std::string &name)
    {
        std::shared_lock guard(lock_);
        return std::find(names_.begin(), names_.end(), name) != names_.end();
    }

    std::shared_mutex lock_;
    std::vector<std::string> names_;
};

int main()
{
    Registry registry;
    std::thread first([&] {
        registry.intern("main", [] {
            moment_reached(1);
            await_moment(2);
        });
    });
    std::thread second([&] {
        await_moment(1);
        registry.intern("main", [] {});
        moment_reached(2);
    });
    first.join();
    second.join();
    std::printf("%zu entries\n", registry.size());
}
