// A task that is not waited for fills in numbers while a reduction adds them up.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int numbers[64] = {};
        tbb::task_group group;
        group.run([&] {
            numbers[40] = 1; // (A)
        });
        int sum = tbb::parallel_reduce(
            tbb::blocked_range<int>(0, 64, 8), 0,
            [&](const tbb::blocked_range<int> &range, int part) {
                for (int i = range.begin(); i < range.end(); i++)
                    part += numbers[i]; // (B)
                return part;
            },
            std::plus<int>(), tbb::simple_partitioner());
        group.wait();
        use(sum);
    });
}
