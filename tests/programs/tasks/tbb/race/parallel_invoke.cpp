// Of three functions that run in parallel two write the same variable.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/parallel_invoke.h>

int main()
{
    with_workers([] {
        int left = 0, right = 0;
        tbb::parallel_invoke(
            [&] {
                left = 1; // (A)
            },
            [&] { right = 2; },
            [&] {
                left = 3; // (B)
            });
        use(left + right);
    });
}
