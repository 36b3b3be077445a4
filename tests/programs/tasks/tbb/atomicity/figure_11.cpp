// The same example with a lock at every access: no race any more, and still task 3 can write between the two sections
// of task 2.
//
// needs: tbb
// expect: atomicity-violation task 2

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/queuing_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::queuing_mutex::scoped_lock;

tbb::queuing_mutex L;
int X, Y;

static void task_2()
{
    KEIRIN_ATOMIC("task 2")
    {
        int a = 0;
        {
            Guard guard(L);
            a = X;
        }
        a = a + 1;
        Guard guard(L);
        X = a;
    }
}

static void task_3()
{
    Guard guard(L);
    X = Y;
}

int main()
{
    with_workers([] {
        X = 10;
        Y = 5;
        tbb::task_group group;
        group.run(task_2);
        group.run(task_3);
        group.wait();
        use(X);
    });
}
