// Read, read, and another task writes in between: the block has seen two values. Without locks and under different
// locks that is a race as well. Under two critical sections of one lock it is no race, and torn all the same; under
// one it is whole.
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
        use(bare); // (A)
        keep_apart();
        use(bare); // (B)
    }
    KEIRIN_ATOMIC("one section")
    {
        Guard guard(lock);
        use(whole);
        keep_apart();
        use(whole);
    }
    KEIRIN_ATOMIC("two sections")
    {
        {
            Guard guard(lock);
            use(torn);
        }
        Guard guard(lock);
        use(torn);
    }
    KEIRIN_ATOMIC("different locks")
    {
        Guard guard(lock);
        use(apart); // (C)
        keep_apart();
        use(apart); // (D)
    }
}

static void single_accesses()
{
    bare = 3; // (E)
    {
        Guard guard(lock);
        whole = 3;
        torn = 3;
    }
    Guard guard(other_lock);
    apart = 3; // (F)
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
