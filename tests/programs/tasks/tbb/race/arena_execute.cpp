// `execute` waits for its function, not for the tasks that the function spawned into a group.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int value = 0, prepared = 0;
        tbb::task_arena arena(2);
        tbb::task_group group;
        arena.execute([&] {
            prepared = 1;
            group.run([&] {
                value = 1; // (A)
            });
        });
        use(prepared);
        use(value); // (B)
        arena.execute([&] { group.wait(); });
        use(value);
    });
}
