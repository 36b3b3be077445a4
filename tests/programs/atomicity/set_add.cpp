// The example of the Velodrome paper: every operation of the vector takes its lock, but `add` is two of them, and
// another thread can add the same element in between.
//
// run: --analysis velodrome
// expect: atomicity-violation Set::add
// prints: 2

#include "schedule.h"
#include <algorithm>
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <thread>
#include <vector>

class SafeVector {
public:
    bool contains(int element)
    {
        std::lock_guard guard(lock_);
        return std::find(elements_.begin(), elements_.end(), element) != elements_.end();
    }
    void append(int element)
    {
        std::lock_guard guard(lock_);
        elements_.push_back(element);
    }
    std::size_t size()
    {
        std::lock_guard guard(lock_);
        return elements_.size();
    }

private:
    std::mutex lock_;
    std::vector<int> elements_;
};

class Set {
public:
    template <typename Between> void add(int element, Between between)
    {
        KEIRIN_ATOMIC("Set::add")
        {
            if (!elements_.contains(element)) {
                between();
                elements_.append(element);
            }
        }
    }
    std::size_t size() { return elements_.size(); }

private:
    SafeVector elements_;
};

int main()
{
    Set set;
    std::thread first([&] {
        set.add(7, [] {
            moment_reached(1);
            await_moment(2);
        });
    });
    std::thread second([&] {
        await_moment(1);
        set.add(7, [] {});
        moment_reached(2);
    });
    first.join();
    second.join();
    std::printf("%zu\n", set.size());
}
