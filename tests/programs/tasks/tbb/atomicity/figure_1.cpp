// The example of the paper on atomicity of tasks: task 2 reads X and writes it, task 3 writes it. What task 1 does
// before the first spawn is beside nobody.
//
// needs: tbb
// expect: atomicity-violation task 2
// expect: data-race (A) (C)
// expect: data-race (B) (C)

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/task_group.h>

int X, Y;

static void task_2()
{
    KEIRIN_ATOMIC("task 2")
    {
        int a = X; // (A)
        use(a);
        a = a + 1;
        X = a; // (B)
    }
}

static void task_3()
{
    X = Y; // (C)
}

int main()
{
    with_workers([] {
        X = 10;
        Y = 5;
        tbb::task_group group;
        group.run(task_2);
        use(Y);
        group.run(task_3);
        group.wait();
        use(X);
    });
}
