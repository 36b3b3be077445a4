// The other thread computes another value than the side needs.
//
// needs: openmp
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>

int Y, state = 1;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen == 2)
        Y = 1;
}

APART void writer()
{
    m.lock();
    state = state * 3;
    m.unlock();
    m.lock();
    Y = 2;
    m.unlock();
}

int main()
{
    state = 1;
    in_parallel(reader, writer);
}
