// A recursive mutex that was taken twice is free after it was released twice, and not before.
//
// needs: tbb
// expect: data-race (A) (A)
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <mutex>
#include <tbb/parallel_invoke.h>

int main()
{
    with_workers([] {
        std::recursive_mutex mutex;
        int count = 0;
        auto visit = [&] {
            mutex.lock();
            mutex.lock();
            mutex.unlock();
            count++; // (B)
            mutex.unlock();
            count++; // (A)
        };
        tbb::parallel_invoke(visit, visit);
        use(count);
    });
}
