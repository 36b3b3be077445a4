// The size of a vector is asked, then its last element: it may be gone by then.
//
// run: --analysis velodrome
// expect: atomicity-violation History::last
// prints: gone

#include "schedule.h"
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class History {
public:
    std::size_t size()
    {
        std::lock_guard guard(lock_);
        return commands_.size();
    }
    std::string at(std::size_t index)
    {
        std::lock_guard guard(lock_);
        return commands_.at(index);
    }
    void clear()
    {
        std::lock_guard guard(lock_);
        commands_.clear();
    }
    std::string last()
    {
        std::string command;
        KEIRIN_ATOMIC("History::last")
        {
            std::size_t size = this->size();
            moment_reached(1);
            await_moment(2);
            command = at(size - 1);
        }
        return command;
    }

private:
    std::mutex lock_;
    std::vector<std::string> commands_{"make", "make test"};
};

int main()
{
    History history;
    std::thread reader([&] {
        try {
            std::puts(history.last().c_str());
        } catch (const std::out_of_range &) {
            std::puts("gone");
        }
    });
    std::thread writer([&] {
        await_moment(1);
        history.clear();
        moment_reached(2);
    });
    reader.join();
    writer.join();
}
