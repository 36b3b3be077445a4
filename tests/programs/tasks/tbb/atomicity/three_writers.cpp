// Two writers are waited for before the block begins, the third is beside it. Which two are remembered matters.
//
// needs: tbb
// expect: atomicity-violation look twice

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/parallel_invoke.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

tbb::spin_mutex mutex;
int value;

static void look()
{
    tbb::spin_mutex::scoped_lock guard(mutex);
    use(value);
}

static void change()
{
    tbb::spin_mutex::scoped_lock guard(mutex);
    value = 1;
}

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run([] {
            tbb::parallel_invoke(change, change);
            KEIRIN_ATOMIC("look twice")
            {
                look();
                look();
            }
        });
        group.run(change);
        group.wait();
    });
}
