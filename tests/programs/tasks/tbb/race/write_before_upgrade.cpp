// A reader writes before it has become a writer, beside another reader.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/queuing_rw_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::queuing_rw_mutex mutex;
        int version = 0;
        tbb::task_group group;
        group.run([&] {
            tbb::queuing_rw_mutex::scoped_lock lock(mutex, false);
            version = 1; // (A)
            lock.upgrade_to_writer();
            version = 2;
        });
        group.run([&] {
            tbb::queuing_rw_mutex::scoped_lock reader(mutex, false);
            use(version); // (B)
        });
        group.wait();
        use(version);
    });
}
