// A loop adds up into one variable. The default partitioner makes several tasks of it, on one worker too.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/parallel_for.h>

int main()
{
    with_workers([] {
        int sum = 0;
        tbb::parallel_for(0, 100, [&](int i) {
            sum += i; // (A)
            keep_apart();
        });
        use(sum);
    });
}
