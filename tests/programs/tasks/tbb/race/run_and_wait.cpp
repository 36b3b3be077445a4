// The function of `run_and_wait` runs beside the tasks that were spawned before it.
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
        group.run_and_wait([&] {
            total += 2; // (B)
        });
        use(total);
    });
}
