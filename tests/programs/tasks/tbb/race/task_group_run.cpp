// Two tasks of a group add to the same variable.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int total = 0;
        tbb::task_group group;
        group.run([&] {
            total += 1; // (A)
        });
        group.run([&] {
            total += 2; // (B)
        });
        group.wait();
        use(total);
    });
}
