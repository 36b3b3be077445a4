// Small mutexes side by side, one for each cell of a row; a task holds those of two cells at the same time.
//
// needs: tbb
// prints: 28

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/spin_mutex.h>

using Guard = tbb::spin_mutex::scoped_lock;

int main()
{
    with_workers([] {
        tbb::spin_mutex mutexes[8];
        int cells[8] = {};
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 14, 1),
            [&](const tbb::blocked_range<int> &range) {
                int i = range.begin() % 7;
                Guard first(mutexes[i]), second(mutexes[i + 1]);
                cells[i]++;
                cells[i + 1]++;
            },
            tbb::simple_partitioner());
        int sum = 0;
        for (int cell : cells)
            sum += cell;
        std::printf("%d\n", sum);
    });
}
