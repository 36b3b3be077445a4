// Blocks that are whole: they hold the lock throughout, with every kind of lock; or nobody is beside them.
//
// needs: tbb
// prints: 40

#include "tbb_tasks.h"
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::spin_mutex spinning;
        tbb::queuing_rw_mutex readers_and_writers;
        std::mutex standard;
        int first = 0, second = 0, third = 0;
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 6, 1),
            [&](const tbb::blocked_range<int> &) {
                KEIRIN_ATOMIC("first")
                {
                    tbb::spin_mutex::scoped_lock guard(spinning);
                    int seen = first;
                    use(seen);
                    first = seen + 2;
                }
                KEIRIN_ATOMIC("second")
                {
                    tbb::queuing_rw_mutex::scoped_lock guard(readers_and_writers, true);
                    int seen = second;
                    use(seen);
                    second = seen + 2;
                }
                KEIRIN_ATOMIC("look at the second")
                {
                    tbb::queuing_rw_mutex::scoped_lock guard(readers_and_writers, false);
                    use(second);
                    use(second);
                }
                KEIRIN_ATOMIC("third")
                {
                    std::lock_guard<std::mutex> guard(standard);
                    int seen = third;
                    use(seen);
                    third = seen + 2;
                }
            },
            tbb::simple_partitioner());
        KEIRIN_ATOMIC("alone")
        {
            first++;
            keep_apart();
            first++;
        }
        tbb::task_group group;
        group.run([&] {
            KEIRIN_ATOMIC("the only task")
            {
                second++;
                keep_apart();
                second++;
            }
        });
        group.wait();
        std::printf("%d\n", first + second + third);
    });
}
