// Readers together and writers alone, with every kind of lock that has both.
//
// needs: tbb
// prints: 4 4 4 4

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_group.h>

template <typename Mutex> static int entries()
{
    Mutex mutex;
    int count = 0;
    tbb::task_group group;
    for (int i = 0; i < 4; i++) {
        group.run([&] {
            typename Mutex::scoped_lock writer(mutex, true);
            count++;
        });
        group.run([&] {
            typename Mutex::scoped_lock reader(mutex, false);
            use(count);
        });
    }
    group.wait();
    return count;
}

int main()
{
    with_workers([] {
        std::printf("%d ", entries<tbb::spin_rw_mutex>());
        std::printf("%d ", entries<tbb::queuing_rw_mutex>());
        std::printf("%d ", entries<tbb::rw_mutex>());
        std::printf("%d\n", entries<tbb::speculative_spin_rw_mutex>());
    });
}
