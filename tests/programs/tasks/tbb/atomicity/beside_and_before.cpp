// The same block in two tasks. One of them was waited for before the write and is whole; the other one was not.
// Whoever remembers only the later one misses it.
//
// needs: tbb
// expect: atomicity-violation beside

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

tbb::spin_mutex mutex;
int value;

static void look()
{
    tbb::spin_mutex::scoped_lock guard(mutex);
    use(value);
}

int main()
{
    with_workers([] {
        tbb::task_group outer;
        outer.run([] {
            KEIRIN_ATOMIC("beside")
            {
                look();
                look();
            }
        });
        tbb::task_group inner;
        inner.run_and_wait([] {
            KEIRIN_ATOMIC("before")
            {
                look();
                look();
            }
        });
        {
            tbb::spin_mutex::scoped_lock guard(mutex);
            value = 1;
        }
        outer.wait();
    });
}
