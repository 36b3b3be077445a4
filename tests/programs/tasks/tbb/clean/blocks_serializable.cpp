// Blocks of two critical sections between which others can come, but only such that could have come before or after:
// they read where the block reads and writes, or write what the block touches once.
//
// needs: tbb

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

tbb::spin_mutex lock;
int read_then_written, written_then_read, only_read, once;

static void look(int &value)
{
    Guard guard(lock);
    use(value);
}

static void change(int &value)
{
    Guard guard(lock);
    value = 1;
}

int main()
{
    with_workers([] {
        tbb::task_group group;
        group.run([] {
            KEIRIN_ATOMIC("read, write")
            {
                look(read_then_written);
                change(read_then_written);
            }
            KEIRIN_ATOMIC("write, read")
            {
                change(written_then_read);
                look(written_then_read);
            }
            KEIRIN_ATOMIC("read, read")
            {
                look(only_read);
                look(only_read);
            }
            KEIRIN_ATOMIC("once")
            {
                look(only_read);
                change(once);
            }
        });
        group.run([] {
            look(read_then_written);
            look(written_then_read);
            look(only_read);
            change(once);
        });
        group.wait();
    });
}
