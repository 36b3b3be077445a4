// The lock is held at the branch, and the side releases it before it writes.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, state;
std::mutex m;

APART void reader()
{
    m.lock();
    if (state) {
        m.unlock();
        Y = 1; // (A)
        m.lock();
    }
    m.unlock();
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    Y = 2; // (B)
    m.unlock();
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
