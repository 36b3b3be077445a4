// A reader becomes a writer; if the lock was free in between it looks again. A writer becomes a reader and only
// reads.
//
// needs: tbb
// prints: 4 4

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_group.h>

template <typename Mutex> static int increments()
{
    Mutex mutex;
    int count = 0;
    tbb::task_group group;
    for (int i = 0; i < 4; i++)
        group.run([&] {
            typename Mutex::scoped_lock lock(mutex, false);
            int seen = count;
            lock.upgrade_to_writer();
            seen = count;
            count = seen + 1;
            lock.downgrade_to_reader();
            use(count);
        });
    group.wait();
    return count;
}

int main()
{
    with_workers([] {
        std::printf("%d ", increments<tbb::spin_rw_mutex>());
        std::printf("%d\n", increments<tbb::queuing_rw_mutex>());
    });
}
