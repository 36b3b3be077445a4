// What is written before a spawn may be read by the task, and what the task writes may be read after the wait: by the
// parent, by later tasks, and again in another round of the same group.
//
// needs: tbb
// prints: 54

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int input = 1, left = 0, right = 0, sum = 0;
        tbb::task_group group;
        for (int round = 0; round < 3; round++) {
            input = input * 2 + round;
            group.run([&] { left = input; });
            group.run([&] { right = input; });
            group.wait();
            input++;
            group.run([&] { sum += left + right; });
            group.wait();
        }
        std::printf("%d\n", sum);
    });
}
