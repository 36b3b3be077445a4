// What was read as a reader is written as a writer, after the lock was free in between.
//
// needs: tbb
// expect: atomicity-violation double

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/parallel_invoke.h>
#include <tbb/spin_rw_mutex.h>

int main()
{
    with_workers([] {
        tbb::spin_rw_mutex mutex;
        int value = 1;
        auto double_it = [&] {
            KEIRIN_ATOMIC("double")
            {
                int seen = 0;
                {
                    tbb::spin_rw_mutex::scoped_lock reader(mutex, false);
                    seen = value;
                }
                tbb::spin_rw_mutex::scoped_lock writer(mutex, true);
                value = 2 * seen;
            }
        };
        tbb::parallel_invoke(double_it, double_it);
        use(value);
    });
}
