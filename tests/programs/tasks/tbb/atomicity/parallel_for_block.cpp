// Iterations of a parallel loop take the next number in two steps, each under the lock.
//
// needs: tbb
// expect: atomicity-violation next number

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/queuing_mutex.h>

int main()
{
    with_workers([] {
        tbb::queuing_mutex mutex;
        int next = 0;
        int numbers[8];
        tbb::parallel_for(
            tbb::blocked_range<int>(0, 8, 1),
            [&](const tbb::blocked_range<int> &range) {
                KEIRIN_ATOMIC("next number")
                {
                    int number = 0;
                    {
                        tbb::queuing_mutex::scoped_lock guard(mutex);
                        number = next;
                    }
                    tbb::queuing_mutex::scoped_lock guard(mutex);
                    next = number + 1;
                    numbers[range.begin()] = number;
                }
            },
            tbb::simple_partitioner());
        use(numbers[0] + next);
    });
}
