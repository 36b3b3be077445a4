// The tasks of a loop take the loop's variable by reference, and the loop goes on.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int squares[4];
        tbb::task_group group;
        int i;
        for (i = 0; i < 4; i++) { // (A)
            int *square = &squares[i];
            group.run([&i, square] {
                int side = i; // (B)
                *square = side * side;
            });
        }
        group.wait();
        use(squares[0]);
    });
}
