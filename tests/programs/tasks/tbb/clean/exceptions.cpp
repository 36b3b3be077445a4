// A wait that ends by an exception has waited all the same: the tasks that ran are finished, the others will not
// start. The group can be used again.
//
// needs: tbb
// prints: no more paper
// prints: no more ink
// prints: 5

#include "tbb_tasks.h"
#include <cstdio>
#include <stdexcept>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int pages[8] = {};
        tbb::task_group group;
        try {
            for (int &page : pages)
                group.run([&page] { page = 1; });
            group.run([] { throw std::runtime_error("no more paper"); });
            group.wait();
        } catch (const std::runtime_error &error) {
            std::printf("%s\n", error.what());
        }
        for (int &page : pages)
            page = 2;
        try {
            tbb::parallel_for(
                tbb::blocked_range<int>(0, 8, 1),
                [&](const tbb::blocked_range<int> &range) {
                    if (range.begin() == 5)
                        throw std::runtime_error("no more ink");
                    pages[range.begin()] = 3;
                },
                tbb::simple_partitioner());
        } catch (const std::runtime_error &error) {
            std::printf("%s\n", error.what());
        }
        for (int &page : pages)
            page = 4;
        group.run([&] { pages[0]++; });
        group.wait();
        std::printf("%d\n", pages[0]);
    });
}
