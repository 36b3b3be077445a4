// Nothing is marked. What was read under the lock is written under a later hold of it, and the deposit of the other
// task in between is lost.
//
// needs: tbb
// expect: lock-gap (A) (B)

#include "tbb_tasks.h"
#include <tbb/parallel_invoke.h>
#include <tbb/spin_mutex.h>

int main()
{
    with_workers([] {
        tbb::spin_mutex mutex;
        int balance = 100;
        auto deposit = [&](int amount) {
            int before = 0;
            {
                tbb::spin_mutex::scoped_lock guard(mutex);
                before = balance; // (A)
            }
            tbb::spin_mutex::scoped_lock guard(mutex);
            balance = before + amount; // (B)
        };
        tbb::parallel_invoke([&] { deposit(10); }, [&] { deposit(20); });
        use(balance);
    });
}
