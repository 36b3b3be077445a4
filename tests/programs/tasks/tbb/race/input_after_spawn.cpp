// Two inputs of a task: one is set before the task is spawned, the other one line too late.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int width = 0, height = 0;
        tbb::task_group group;
        width = 3;
        group.run([&] {
            use(width);
            use(height); // (A)
        });
        height = 4; // (B)
        group.wait();
        use(width + height);
    });
}
