// A task waits for its own child, not for its sibling, which reads what the child writes.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int shared = 0;
        tbb::task_group outer;
        outer.run([&] {
            tbb::task_group inner;
            inner.run([&] {
                shared = 1; // (A)
            });
            inner.wait();
            use(shared);
        });
        outer.run([&] {
            use(shared); // (B)
        });
        outer.wait();
        use(shared);
    });
}
