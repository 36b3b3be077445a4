// A scoped lock is released before the last access.
//
// needs: tbb
// expect: data-race (A) (A)
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/queuing_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::queuing_mutex mutex;
        int entries = 0;
        auto add = [&] {
            tbb::queuing_mutex::scoped_lock guard(mutex);
            entries++; // (B)
            guard.release();
            entries++; // (A)
        };
        tbb::task_group group;
        group.run(add);
        group.run(add);
        group.wait();
        use(entries);
    });
}
