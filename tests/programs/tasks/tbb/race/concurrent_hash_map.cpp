// A `const_accessor` of a concurrent map is a lock of readers. What the element points to is written under it.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/concurrent_hash_map.h>
#include <tbb/task_group.h>

using Table = tbb::concurrent_hash_map<int, int *>;

int main()
{
    with_workers([] {
        int stock = 0;
        Table table;
        table.insert({17, &stock});
        auto deliver = [&] {
            Table::const_accessor item;
            if (table.find(item, 17))
                *item->second += 1; // (A)
        };
        tbb::task_group group;
        group.run(deliver);
        group.run(deliver);
        group.wait();
        use(stock);
    });
}
