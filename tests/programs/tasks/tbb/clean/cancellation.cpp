// A cancelled group is still to be waited for; after that nobody works any more, whoever had started and whoever had
// not.
//
// needs: tbb
// prints: canceled
// prints: complete 8

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int cells[8] = {};
        tbb::task_group group;
        for (int &cell : cells)
            group.run([&cell] { cell = 1; });
        group.cancel();
        for (int &cell : cells)
            group.run([&cell] { cell = 2; });
        std::puts(group.wait() == tbb::canceled ? "canceled" : "complete");
        for (int &cell : cells)
            cell = 0;
        for (int &cell : cells)
            group.run([&cell] { cell++; });
        bool complete = group.wait() == tbb::complete;
        int sum = 0;
        for (int cell : cells)
            sum += cell;
        std::printf("%s %d\n", complete ? "complete" : "canceled", sum);
    });
}
