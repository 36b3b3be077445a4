// Write, write, and another task reads in between: it sees what was meant to be seen by nobody. Without locks and
// under different locks that is a race as well. Under two critical sections of one lock it is no race, and torn all
// the same; under one it is whole.
//
// needs: tbb
// expect: atomicity-violation without locks
// expect: data-race (A) (E)
// examined: data-race (B) (E)
// expect: atomicity-violation two sections
// expect: atomicity-violation different locks
// expect: data-race (C) (F)
// examined: data-race (D) (F)

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

tbb::spin_mutex lock, other_lock;
int bare, whole, torn, apart;

static void blocks()
{
    KEIRIN_ATOMIC("without locks")
    {
        bare = 1; // (A)
        keep_apart();
        bare = 2; // (B)
    }
    KEIRIN_ATOMIC("one section")
    {
        Guard guard(lock);
        whole = 1;
        keep_apart();
        whole = 2;
    }
    KEIRIN_ATOMIC("two sections")
    {
        {
            Guard guard(lock);
            torn = 1;
        }
        Guard guard(lock);
        torn = 2;
    }
    KEIRIN_ATOMIC("different locks")
    {
        Guard guard(lock);
        apart = 1; // (C)
        keep_apart();
        apart = 2; // (D)
    }
}

static void single_accesses()
{
    use(bare); // (E)
    {
        Guard guard(lock);
        use(whole);
        use(torn);
    }
    Guard guard(other_lock);
    use(apart); // (F)
}

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run(blocks);
        group.run(single_accesses);
        group.wait();
    });
}
