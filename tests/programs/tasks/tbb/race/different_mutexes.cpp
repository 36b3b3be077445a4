// Two tasks lock, but not the same: one a spinning mutex, the other a queuing one.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::spin_mutex spinning;
        tbb::queuing_mutex queuing;
        int balance = 0;
        tbb::task_group group;
        group.run([&] {
            tbb::spin_mutex::scoped_lock guard(spinning);
            balance += 10; // (A)
        });
        group.run([&] {
            tbb::queuing_mutex::scoped_lock guard(queuing);
            balance -= 10; // (B)
        });
        group.wait();
        use(balance);
    });
}
