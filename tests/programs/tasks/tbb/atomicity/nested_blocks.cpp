// The inner block holds its lock throughout and is whole; the outer one, which has it twice, is not.
//
// needs: tbb
// expect: atomicity-violation reserve both seats

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

tbb::spin_mutex mutex;
int free_seats = 10;

static void reserve_seat()
{
    KEIRIN_ATOMIC("reserve seat")
    {
        tbb::spin_mutex::scoped_lock guard(mutex);
        free_seats--;
    }
}

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run([] {
            KEIRIN_ATOMIC("reserve both seats")
            {
                reserve_seat();
                reserve_seat();
            }
        });
        group.run(reserve_seat);
        group.wait();
        use(free_seats);
    });
}
