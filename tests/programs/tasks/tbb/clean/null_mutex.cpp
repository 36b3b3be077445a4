// A null mutex where no lock is needed: the tasks come one after the other, or have a counter each.
//
// needs: tbb
// prints: 4 1

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/null_mutex.h>
#include <tbb/null_rw_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::null_mutex mutex;
        tbb::null_rw_mutex rw_mutex;
        int count = 0;
        int own[4] = {};
        tbb::task_group group;
        for (int i = 0; i < 4; i++) {
            group.run([&] {
                tbb::null_mutex::scoped_lock guard(mutex);
                count++;
            });
            group.wait();
        }
        for (int &mine : own)
            group.run([&rw_mutex, &mine] {
                tbb::null_rw_mutex::scoped_lock guard(rw_mutex, true);
                mine++;
            });
        group.wait();
        std::printf("%d %d\n", count, own[3]);
    });
}
