// Arenas: a function that is executed in one and waited for, tasks spawned within and waited for within, one that is
// enqueued and waited for by its group, and an isolated loop.
//
// needs: tbb
// prints: 1 45 7 28

#include "tbb_tasks.h"
#include <cstdio>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

using Range = tbb::blocked_range<int>;

static int sum_up_to(int end)
{
    return tbb::parallel_reduce(
        Range(0, end, 2), 0,
        [](const Range &range, int part) {
            for (int i = range.begin(); i < range.end(); i++)
                part += i;
            return part;
        },
        std::plus<int>(), tbb::simple_partitioner());
}

int main()
{
    with_workers([] {
        tbb::task_arena arena(2);
        int executed = 0, sum = 0, enqueued = 0, isolated = 0;
        arena.execute([&] { executed = 1; });
        sum = arena.execute([] { return sum_up_to(10); });
        tbb::task_group group;
        arena.enqueue(group.defer([&] { enqueued = 6; }));
        arena.execute([&] { group.wait(); });
        enqueued++;
        tbb::parallel_for(0, 2, [&](int i) {
            int result = tbb::this_task_arena::isolate([] { return sum_up_to(8); });
            if (i == 1)
                isolated = result;
        });
        std::printf("%d %d %d %d\n", executed, sum, enqueued, isolated);
    });
}
