// Threads that have tasks and tasks that have threads: what is joined or waited for is done.
//
// needs: tbb
// prints: 36

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>
#include <thread>

int main()
{
    with_workers([] {
        int numbers[8] = {};
        tbb::task_group group;
        for (int i = 0; i < 2; i++)
            group.run([&, i] {
                std::thread helper([&, i] {
                    tbb::parallel_for(0, 2, [&, i](int k) { numbers[2 * i + k] = 1; });
                });
                helper.join();
                numbers[2 * i] += 2 * i;
                numbers[2 * i + 1] += 2 * i + 1;
            });
        std::thread beside([&] {
            tbb::task_group own;
            for (int i = 4; i < 8; i++)
                own.run([&, i] { numbers[i] = 1 + i; });
            own.wait();
        });
        group.wait();
        beside.join();
        int sum = 0;
        for (int number : numbers)
            sum += number;
        std::printf("%d\n", sum);
    });
}
