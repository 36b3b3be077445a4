// A block that goes on over a spawn and a wait: in each step it touches the variable once, and that is whole. A block
// that is left by an exception has ended.
//
// needs: tbb
// prints: 2

#include "tbb_tasks.h"
#include <cstdio>
#include <keirin.h>
#include <stdexcept>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

tbb::spin_mutex lock;
int value, attempts;

static void look()
{
    Guard guard(lock);
    use(value);
}

static void attempt()
{
    Guard guard(lock);
    attempts++;
}

int main()
{
    with_workers([] {
        tbb::task_group group;
        KEIRIN_ATOMIC("watch")
        {
            look();
            group.run([] {
                Guard guard(lock);
                value = 1;
            });
            look();
            group.wait();
            look();
        }
        group.run([] {
            Guard guard(lock);
            use(attempts);
        });
        try {
            KEIRIN_ATOMIC("attempt")
            {
                attempt();
                throw std::runtime_error("not now");
            }
        } catch (const std::runtime_error &) {
            attempt();
        }
        group.wait();
        std::printf("%d\n", attempts);
    });
}
