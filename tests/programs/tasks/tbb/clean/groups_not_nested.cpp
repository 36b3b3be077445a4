// Groups that overlap without one being inside the other, each waited for before its result is read. The third uses
// what the first has left.
//
// needs: tbb
// prints: 7

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int first = 0, second = 0, third = 0;
        tbb::task_group group_1, group_2, group_3;
        group_1.run([&] { first = 1; });
        group_2.run([&] { second = 2; });
        group_1.wait();
        first++;
        group_3.run([&] { third = first; });
        group_2.wait();
        second++;
        group_3.wait();
        std::printf("%d\n", first + second + third);
    });
}
