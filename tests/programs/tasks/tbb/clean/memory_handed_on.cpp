// What one task allocates another one, which comes after it, frees; the tasks beside it get the memory meanwhile.
//
// needs: tbb
// cc: -ltbbmalloc
// prints: 496

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/scalable_allocator.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::scalable_allocator<int> allocator;
        int *blocks[8];
        int sums[8] = {};
        tbb::task_group group;
        for (int i = 0; i < 8; i++)
            group.run([&, i] {
                int *block = allocator.allocate(4);
                for (int k = 0; k < 4; k++)
                    block[k] = 4 * i + k;
                blocks[i] = block;
            });
        group.wait();
        for (int i = 0; i < 8; i++)
            group.run([&, i] {
                for (int k = 0; k < 4; k++)
                    sums[i] += blocks[i][k];
                allocator.deallocate(blocks[i], 4);
                int *other = allocator.allocate(4);
                other[0] = i;
                allocator.deallocate(other, 4);
            });
        group.wait();
        int sum = 0;
        for (int part : sums)
            sum += part;
        std::printf("%d\n", sum);
    });
}
