// Memory that one task gave back goes to another at once, from every allocator that the library has.
//
// needs: tbb
// cc: -ltbbmalloc
// prints: 256

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/parallel_for.h>
#include <tbb/scalable_allocator.h>
#include <tbb/tbb_allocator.h>
#include <vector>

template <typename Allocator> static int fill(int tag)
{
    std::vector<int, Allocator> numbers;
    for (int i = 0; i < 20; i++)
        numbers.push_back(tag + i);
    return numbers.back() - tag == 19;
}

static int fill_raw(int tag)
{
    int *first = static_cast<int *>(scalable_malloc(8 * sizeof(int)));
    first[0] = tag;
    first = static_cast<int *>(scalable_realloc(first, 400 * sizeof(int)));
    first[399] = tag;
    int *second = static_cast<int *>(scalable_calloc(4, sizeof(int)));
    int *third = static_cast<int *>(scalable_aligned_malloc(64, 64));
    third[0] = first[0] + second[3];
    int right = third[0] == tag;
    scalable_aligned_free(third);
    scalable_free(second);
    scalable_free(first);
    return right;
}

int main()
{
    with_workers([] {
        int results[64] = {};
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 64, 1),
            [&](const tbb::blocked_range<int> &range) {
                int tag = range.begin();
                results[tag] = fill<tbb::scalable_allocator<int>>(tag) + fill_raw(tag);
                results[tag] += fill<tbb::cache_aligned_allocator<int>>(tag) + fill<tbb::tbb_allocator<int>>(tag);
            },
            tbb::simple_partitioner());
        int sum = 0;
        for (int result : results)
            sum += result;
        std::printf("%d\n", sum);
    });
}
