// Tasks that are made ahead: what was done before one is handed over is its to read. One is never handed over.
//
// needs: tbb
// prints: 11

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/task_group.h>
#include <utility>

int main()
{
    with_workers([] {
        int input = 0, output = 0;
        tbb::task_group group;
        tbb::task_handle first = group.defer([&] { output = input + 1; });
        tbb::task_handle never = group.defer([&] { output = -1; });
        input = 9;
        group.run(std::move(first));
        never = tbb::task_handle();
        group.wait();
        output++;
        std::printf("%d\n", output);
    });
}
