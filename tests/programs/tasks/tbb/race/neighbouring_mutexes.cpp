// A mutex that spins is one byte long. Two that lie side by side are two all the same.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::spin_mutex mutexes[2];
        int value = 0;
        tbb::task_group group;
        group.run([&] {
            tbb::spin_mutex::scoped_lock guard(mutexes[0]);
            value = 1; // (A)
        });
        group.run([&] {
            tbb::spin_mutex::scoped_lock guard(mutexes[1]);
            value = 2; // (B)
        });
        group.wait();
        use(value);
    });
}
