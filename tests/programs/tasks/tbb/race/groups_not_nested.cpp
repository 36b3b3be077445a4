// Two groups that overlap without one being inside the other: after the wait for the first, the task of the second
// may still run.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int first = 0, second = 0;
        tbb::task_group group_1, group_2;
        group_1.run([&] { first = 1; });
        group_2.run([&] {
            second = 2; // (A)
        });
        group_1.wait();
        use(first);
        use(second); // (B)
        group_2.wait();
        use(second);
    });
}
