// A mutex that may be a hardware transaction instead of a lock; one task goes without it.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::speculative_spin_mutex mutex;
        int balance = 0;
        tbb::task_group group;
        group.run([&] {
            tbb::speculative_spin_mutex::scoped_lock guard(mutex);
            balance += 10; // (A)
        });
        group.run([&] {
            balance -= 10; // (B)
        });
        group.wait();
        use(balance);
    });
}
