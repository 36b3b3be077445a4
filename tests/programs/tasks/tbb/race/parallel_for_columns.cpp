// A matrix is cut into rows and columns of blocks; all blocks of a column add to the same sums.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/blocked_range2d.h>
#include <tbb/parallel_for.h>

int main()
{
    with_workers([] {
        int matrix[8][8] = {};
        int sums[8] = {};
        tbb::parallel_for(
            tbb::blocked_range2d<int>(0, 8, 4, 0, 8, 4),
            [&](const tbb::blocked_range2d<int> &range) {
                for (int row = range.rows().begin(); row < range.rows().end(); row++)
                    for (int column = range.cols().begin(); column < range.cols().end(); column++) {
                        sums[column] += matrix[row][column]; // (A)
                        keep_apart();
                    }
            },
            tbb::simple_partitioner());
        use(sums[7]);
    });
}
