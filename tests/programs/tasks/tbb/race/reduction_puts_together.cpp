// A reduction notes how often it put two parts together, without a lock: that happens in several tasks at the same time. What each of them
// has read before comes first all the same.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

static int numbers[64], joins;

struct Sum {
    int total = 0;

    Sum() = default;
    Sum(Sum &, tbb::split) {}

    void operator()(const tbb::blocked_range<int> &range)
    {
        for (int i = range.begin(); i < range.end(); i++)
            total += numbers[i];
    }

    void join(Sum &right)
    {
        total += right.total;
        joins++; // (A)
    }
};

int main()
{
    with_workers([] {
        Sum sum;
        // Which parts are put together is for the library to decide, unless it is the same in every run.
        tbb::parallel_deterministic_reduce(tbb::blocked_range<int>(0, 64, 8), sum);
        use(sum.total);
    });
}
