// A group that is cancelled does not stop a task that runs: it goes on to write, and the one who did not wait reads.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int value = 0;
        tbb::task_group outer;
        outer.run([&] {
            tbb::task_group inner;
            inner.run_and_wait([&] {
                inner.cancel();
                value = 1; // (A)
            });
        });
        use(value); // (B)
        outer.wait();
        use(value);
    });
}
