// Tasks may insert into a concurrent map together. Values that both of them change are not protected.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/concurrent_unordered_map.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::concurrent_unordered_map<int, int> counts;
        counts[5] = 0;
        auto count = [&](int word) {
            counts[word] = 1;
            int &shared = counts[5];
            shared++; // (A)
        };
        tbb::task_group group;
        group.run([&] { count(1); });
        group.run([&] { count(2); });
        group.wait();
        use(counts[5]);
    });
}
