// Tasks that count in atomic variables, and one of which, whichever is last, reads what all of them wrote.
//
// needs: tbb
// prints: 36 8

#include "tbb_tasks.h"
#include <atomic>
#include <cstdio>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        std::atomic<int> left{8}, relaxed{0};
        int parts[8] = {};
        int sum = 0;
        tbb::task_group group;
        for (int i = 0; i < 8; i++)
            group.run([&, i] {
                parts[i] = i + 1;
                relaxed.fetch_add(1, std::memory_order_relaxed);
                if (left.fetch_sub(1, std::memory_order_acq_rel) == 1)
                    for (int part : parts)
                        sum += part;
            });
        group.wait();
        std::printf("%d %d\n", sum, relaxed.load());
    });
}
