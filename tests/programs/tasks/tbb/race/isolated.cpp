// Isolation says which tasks a waiting worker may take. It excludes nobody.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

int main()
{
    with_workers([] {
        int sum = 0;
        tbb::parallel_invoke(
            [&] {
                tbb::this_task_arena::isolate([&] {
                    tbb::parallel_for(0, 4, [](int i) { use(i); });
                    sum += 1; // (A)
                });
            },
            [&] {
                tbb::this_task_arena::isolate([&] {
                    tbb::parallel_for(0, 4, [](int i) { use(i); });
                    sum += 2; // (B)
                });
            });
        use(sum);
    });
}
