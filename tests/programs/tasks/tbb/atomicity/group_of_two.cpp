// A point has a lock for each coordinate. Each access is protected, but whoever draws the point while it moves may
// see one coordinate from before and the other from after.
//
// needs: tbb
// expect: atomicity-violation move
// expect: atomicity-violation draw

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>

using Guard = tbb::spin_mutex::scoped_lock;

struct Point {
    tbb::spin_mutex lock_x, lock_y;
    int x = 0, y = 0;

    void move(int new_x, int new_y)
    {
        KEIRIN_ATOMIC("move")
        {
            {
                Guard guard(lock_x);
                x = new_x;
            }
            Guard guard(lock_y);
            y = new_y;
        }
    }
    void draw()
    {
        KEIRIN_ATOMIC("draw")
        {
            {
                Guard guard(lock_x);
                use(x);
            }
            Guard guard(lock_y);
            use(y);
        }
    }
};

int main()
{
    with_workers([] {
        Point point;
        keirin_group(&point.x, &point.y);
        tbb::task_group group;
        group.run([&] { point.move(3, 4); });
        group.run([&] { point.draw(); });
        group.wait();
        use(point.x);
    });
}
