// Loops with each of the partitioners, one after the other over the same array; and loops of two dimensions, with a
// step, and within a loop.
//
// needs: tbb
// prints: 400 20

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/parallel_for.h>

using Range = tbb::blocked_range<int>;

int main()
{
    with_workers([] {
        int cells[100] = {};
        auto increment = [&](const Range &range) {
            for (int i = range.begin(); i < range.end(); i++)
                cells[i]++;
        };
        tbb::affinity_partitioner affinity;
        tbb::parallel_for(Range(0, 100), increment, tbb::auto_partitioner());
        tbb::parallel_for(Range(0, 100, 7), increment, tbb::simple_partitioner());
        tbb::parallel_for(Range(0, 100), increment, tbb::static_partitioner());
        tbb::parallel_for(Range(0, 100), increment, affinity);
        int sum = 0;
        for (int cell : cells)
            sum += cell;

        int table[10][10] = {};
        tbb::parallel_for(tbb::blocked_range2d<int>(0, 10, 0, 10), [&](const tbb::blocked_range2d<int> &range) {
            for (int row = range.rows().begin(); row < range.rows().end(); row++)
                for (int column = range.cols().begin(); column < range.cols().end(); column++)
                    table[row][column]++;
        });
        tbb::parallel_for(0, 10, 2, [&](int row) {
            tbb::parallel_for(0, 10, [&, row](int column) { table[row][column]++; });
        });
        int first_column = 0;
        for (auto &row : table)
            first_column += row[0] + row[9] - 1;
        std::printf("%d %d\n", sum, first_column);
    });
}
