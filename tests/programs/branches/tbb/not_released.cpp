// The lock is held at the branch, and on the side.
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
    if (state)
        Y = 1;
    m.unlock();
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    Y = 2;
    m.unlock();
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
