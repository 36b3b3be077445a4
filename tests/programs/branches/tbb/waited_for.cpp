// The task that could make a difference is waited for before.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>

int Y, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (!seen)
        Y = 1;
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    Y = 2;
}

int main()
{
    state = 0;
    with_workers([] {
        tbb::task_group group;
        group.run(writer);
        group.wait();
        group.run(reader);
        group.wait();
    });
}
