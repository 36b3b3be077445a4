// Tasks that follow each other on one worker have their variables in the same place of its stack, and hand them to
// children of their own.
//
// needs: tbb
// prints: 96

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int results[16] = {};
        tbb::task_group group;
        for (int &result : results)
            group.run([&result] {
                int numbers[4] = {1, 1, 1, 1};
                int sum = 0;
                tbb::task_group inner;
                for (int &number : numbers)
                    inner.run([&number] {
                        int twice[2] = {number, number};
                        use(&twice[0]);
                        number = twice[0] + twice[1];
                    });
                inner.wait();
                for (int number : numbers)
                    sum += number;
                result = sum - 2;
            });
        group.wait();
        int sum = 0;
        for (int result : results)
            sum += result;
        std::printf("%d\n", sum);
    });
}
