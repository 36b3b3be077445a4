// A transfer takes the two locks one after the other, an audit holds both. The audit is whole; the transfer is not:
// the audit may come when the money is on its way.
//
// needs: tbb
// expect: atomicity-violation transfer

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

struct Account {
    tbb::spin_mutex lock;
    int balance = 100;

    void change(int amount)
    {
        Guard guard(lock);
        balance += amount;
    }
};

static void transfer(Account &from, Account &to)
{
    KEIRIN_ATOMIC("transfer")
    {
        from.change(-50);
        to.change(50);
    }
}

static void audit(Account &first, Account &second)
{
    KEIRIN_ATOMIC("audit")
    {
        Guard first_guard(first.lock), second_guard(second.lock);
        use(first.balance + second.balance);
    }
}

int main()
{
    with_workers([] {
        Account savings, current;
        keirin_group(&savings.balance, &current.balance);
        tbb::task_group group;
        group.run([&] { transfer(savings, current); });
        group.run([&] { audit(savings, current); });
        group.wait();
        use(savings.balance);
    });
}
