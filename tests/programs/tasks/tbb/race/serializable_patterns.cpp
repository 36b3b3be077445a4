// Blocks between whose accesses another task reads. The other task could have read before or after all of it, so no
// block is torn; the accesses race all the same.
//
// needs: tbb
// expect: data-race (A) (C)
// expect: data-race (B) (D)

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/task_group.h>

int read_then_written, written_then_read, only_read;

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run([] {
            KEIRIN_ATOMIC("read, write")
            {
                use(read_then_written);
                read_then_written = 1; // (A)
            }
            KEIRIN_ATOMIC("write, read")
            {
                written_then_read = 1; // (B)
                keep_apart();
                use(written_then_read);
            }
            KEIRIN_ATOMIC("read, read")
            {
                use(only_read);
                use(only_read);
            }
        });
        group.run([] {
            use(read_then_written); // (C)
            use(written_then_read); // (D)
            use(only_read);
        });
        group.wait();
    });
}
