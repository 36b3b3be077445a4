// What is enqueued in an arena runs whenever it likes; the group that it belongs to is waited for too late.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int value = 0;
        tbb::task_arena arena(2);
        tbb::task_group group;
        arena.enqueue(group.defer([&] {
            value = 1; // (A)
        }));
        value = 2; // (B)
        arena.execute([&] { group.wait(); });
        use(value);
    });
}
