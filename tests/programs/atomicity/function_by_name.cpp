// Nothing in the program is marked: the option says which function is meant to be atomic.
//
// run: --analysis fasttrack,velodrome --atomic +Inventory::reserve
// expect: atomicity-violation Inventory::reserve

#include "schedule.h"
#include <mutex>
#include <thread>

class Inventory {
public:
    bool available()
    {
        std::lock_guard guard(lock_);
        return pieces_ > 0;
    }
    void take()
    {
        std::lock_guard guard(lock_);
        pieces_--;
    }
    __attribute__((noinline)) bool reserve(int delay)
    {
        if (!available())
            return false;
        if (delay) {
            moment_reached(1);
            await_moment(2);
        }
        take();
        return true;
    }
    int pieces() const { return pieces_; }

private:
    std::mutex lock_;
    int pieces_ = 1;
};

int main()
{
    Inventory inventory;
    std::thread slow([&] { inventory.reserve(1); });
    std::thread fast([&] {
        await_moment(1);
        inventory.reserve(0);
        moment_reached(2);
    });
    slow.join();
    fast.join();
    return inventory.pieces() != -1;
}
