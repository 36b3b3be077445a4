// Groups within tasks within groups: what is waited for at one level is done for all levels above.
//
// needs: tbb
// prints: 24

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int values[2][2][3] = {};
        int sums[2] = {};
        tbb::parallel_invoke(
            [&] {
                tbb::task_group middle;
                for (int i = 0; i < 2; i++)
                    middle.run([&values, i] {
                        tbb::task_group inner;
                        for (int &value : values[0][i])
                            inner.run([&value] { value = 1; });
                        inner.wait();
                        for (int &value : values[0][i])
                            value++;
                    });
                middle.wait();
                for (auto &row : values[0])
                    for (int value : row)
                        sums[0] += value;
            },
            [&] {
                for (auto &row : values[1]) {
                    tbb::task_group inner;
                    for (int &value : row)
                        inner.run([&value] { value = 2; });
                    inner.wait();
                    for (int value : row)
                        sums[1] += value;
                }
            });
        std::printf("%d\n", sums[0] + sums[1]);
    });
}
