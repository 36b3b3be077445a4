// The result of a task is read before the group was waited for.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int result = 0;
        tbb::task_group group;
        group.run([&] {
            result = 42; // (A)
        });
        use(result); // (B)
        group.wait();
        use(result);
    });
}
