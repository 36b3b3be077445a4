// A writer becomes a reader and writes once more, beside a reader.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::spin_rw_mutex mutex;
        int version = 0;
        tbb::task_group group;
        group.run([&] {
            tbb::spin_rw_mutex::scoped_lock lock(mutex, true);
            version = 1;
            lock.downgrade_to_reader();
            version = 2; // (A)
        });
        group.run([&] {
            tbb::spin_rw_mutex::scoped_lock reader(mutex, false);
            use(version); // (B)
        });
        group.wait();
        use(version);
    });
}
