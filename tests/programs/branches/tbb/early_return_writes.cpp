// The side that returns early writes; if it is not taken, something else is written.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int X, Y, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen == 4) {
        Y = 1; // (A)
        return;
    }
    X = 1;
}

APART void writer()
{
    m.lock();
    state = 4;
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
