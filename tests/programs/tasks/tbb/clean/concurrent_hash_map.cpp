// Words are counted in a concurrent map: an accessor locks its element, so that its value can be changed.
//
// needs: tbb
// prints: 16 16 3

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/blocked_range.h>
#include <tbb/concurrent_hash_map.h>
#include <tbb/parallel_for.h>

using Table = tbb::concurrent_hash_map<int, int>;

int main()
{
    with_workers([] {
        Table table;
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 48, 2),
            [&](const tbb::blocked_range<int> &range) {
                for (int i = range.begin(); i < range.end(); i++) {
                    Table::accessor item;
                    table.insert(item, i % 3);
                    item->second += 1;
                    item.release();
                    Table::const_accessor seen;
                    if (table.find(seen, 0))
                        use(seen->second);
                }
            },
            tbb::simple_partitioner());
        Table::const_accessor first, second;
        table.find(first, 0);
        table.find(second, 2);
        std::printf("%d %d %zu\n", first->second, second->second, table.size());
    });
}
