// Tasks insert into concurrent maps and sets at the same time, and find what others have inserted; values that all of
// them change are atomic.
//
// needs: tbb
// prints: 48 48 6 8

#include "tbb_tasks.h"
#include <atomic>
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/concurrent_map.h>
#include <tbb/concurrent_unordered_map.h>
#include <tbb/concurrent_unordered_set.h>
#include <tbb/parallel_for.h>

int main()
{
    with_workers([] {
        tbb::concurrent_unordered_map<int, int> squares;
        tbb::concurrent_map<int, int> sorted;
        tbb::concurrent_unordered_set<int> rests;
        tbb::concurrent_unordered_map<int, std::atomic<int>> counts;
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 48, 2),
            [&](const tbb::blocked_range<int> &range) {
                for (int i = range.begin(); i < range.end(); i++) {
                    squares.insert({i, i * i});
                    sorted.insert({48 - i, i});
                    rests.insert(i % 6);
                    counts[i % 6]++;
                    auto found = squares.find(i / 2);
                    if (found != squares.end())
                        use(found->second);
                }
            },
            tbb::simple_partitioner());
        std::printf("%zu %zu %zu %d\n", squares.size(), sorted.size(), rests.size(), counts[5].load());
    });
}
