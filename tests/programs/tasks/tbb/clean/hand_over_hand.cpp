// A block goes from one lock to the next and always holds one; who writes holds both. There is no gap.
//
// needs: tbb

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

tbb::spin_mutex first, second;
int value;

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run([] {
            KEIRIN_ATOMIC("look twice")
            {
                Guard first_guard(first);
                use(value);
                Guard second_guard(second);
                first_guard.release();
                use(value);
            }
        });
        group.run([] {
            Guard first_guard(first), second_guard(second);
            value = 1;
        });
        group.wait();
    });
}
