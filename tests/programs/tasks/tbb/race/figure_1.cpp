// The example of the PTRacer paper: both tasks take the lock for X, but for Y each takes another one. What the
// condition is was decided before the tasks were spawned.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

tbb::spin_mutex lock_1, lock_2;
int X, Y;
bool C;

static void task_2()
{
    if (C) {
        tbb::spin_mutex::scoped_lock guard(lock_1);
        X += 1;
        Y += 1; // (A)
    } else {
        Y = 0;
    }
}

static void task_3()
{
    {
        tbb::spin_mutex::scoped_lock guard(lock_1);
        X += 2;
    }
    tbb::spin_mutex::scoped_lock guard(lock_2);
    Y += 2; // (B)
}

int main()
{
    with_workers([] {
        X = 0;
        Y = 0;
        C = true;
        tbb::task_group group;
        group.run(task_2);
        group.run(task_3);
        group.wait();
        use(X + Y);
    });
}
