// Locations that must be seen together: under one lock they are. Where one side only reads and the other changes only
// one of them, there is nothing to be torn.
//
// needs: tbb

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

struct Point {
    tbb::spin_mutex lock;
    int x = 0, y = 0;
};

int main()
{
    with_workers([] {
        Point moved, slid;
        keirin_group(&moved.x, &moved.y);
        keirin_group(&slid.x, &slid.y);
        tbb::task_group group;
        group.run([&] {
            Guard guard(moved.lock);
            moved.x = 3;
            moved.y = 4;
        });
        group.run([&] {
            Guard guard(moved.lock);
            use(moved.x);
            use(moved.y);
        });
        group.run([&] {
            Guard guard(slid.lock);
            slid.x = 3;
        });
        group.run([&] {
            {
                Guard guard(slid.lock);
                use(slid.x);
            }
            Guard guard(slid.lock);
            use(slid.y);
        });
        group.wait();
    });
}
