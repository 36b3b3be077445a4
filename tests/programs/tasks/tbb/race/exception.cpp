// The wait for one group ends by an exception. The handler looks at what a task of another group, which nobody has
// waited for, is writing.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <stdexcept>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        int progress = 0;
        tbb::task_group background, work;
        background.run([&] {
            progress = 1; // (A)
        });
        try {
            work.run([] { throw std::runtime_error("no more paper"); });
            work.wait();
        } catch (const std::runtime_error &) {
            use(progress); // (B)
        }
        background.wait();
        use(progress);
    });
}
