// A block goes on over a spawn. What comes before the spawn is beside nobody; behind it the block looks twice, and
// the child may write in between.
//
// needs: tbb
// expect: atomicity-violation watch

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
        tbb::task_group group;
        KEIRIN_ATOMIC("watch")
        {
            look();
            group.run([] {
                tbb::spin_mutex::scoped_lock guard(mutex);
                value = 1;
            });
            look();
            look();
        }
        group.wait();
    });
}
