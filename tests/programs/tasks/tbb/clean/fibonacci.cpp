// Tasks that spawn tasks, each of which waits for its own. Frames and task objects are used again and again.
//
// needs: tbb
// prints: 233

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/task_group.h>

static int fibonacci(int n)
{
    if (n < 2)
        return n;
    int first = 0, second = 0;
    tbb::task_group group;
    group.run([&] { first = fibonacci(n - 1); });
    group.run_and_wait([&] { second = fibonacci(n - 2); });
    return first + second;
}

int main()
{
    with_workers([] { std::printf("%d\n", fibonacci(13)); });
}
