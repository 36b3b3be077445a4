// A task that was made ahead and is handed to the group later runs beside what follows, as any other.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/task_group.h>
#include <utility>

int main()
{
    with_workers([] {
        int state = 0;
        tbb::task_group group;
        tbb::task_handle later = group.defer([&] {
            state += 1; // (A)
        });
        state = 5;
        group.run(std::move(later));
        state = 6; // (B)
        group.wait();
        use(state);
    });
}
