// A transfer withdraws from one account and deposits to another, each under its lock. An audit in between misses the
// money that is on its way.
//
// run: --analysis fasttrack,velodrome
// expect: atomicity-violation transfer
// prints: audit: 150

#include "schedule.h"
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <thread>

struct Account {
    std::mutex lock;
    int balance;

    explicit Account(int start) : balance(start) {}

    void change(int amount)
    {
        std::lock_guard guard(lock);
        balance += amount;
    }
};

static void transfer(Account &from, Account &to, int amount)
{
    KEIRIN_ATOMIC("transfer")
    {
        from.change(-amount);
        moment_reached(1);
        await_moment(2);
        to.change(amount);
    }
}

static int audit(Account &first, Account &second)
{
    int sum = 0;
    KEIRIN_ATOMIC("audit")
    {
        std::scoped_lock guard(first.lock, second.lock);
        sum = first.balance + second.balance;
    }
    return sum;
}

int main()
{
    Account savings(100), current(100);
    std::thread bank([&] { transfer(savings, current, 50); });
    std::thread auditor([&] {
        await_moment(1);
        std::printf("audit: %d\n", audit(savings, current));
        moment_reached(2);
    });
    bank.join();
    auditor.join();
}
