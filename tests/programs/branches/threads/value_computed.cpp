// The side needs a value that the other thread computes from what it has read.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

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
        Y = 1; // (A)
}

APART void writer()
{
    m.lock();
    state = state + 1;
    m.unlock();
    m.lock();
    Y = 2; // (B)
    m.unlock();
}

int main()
{
    state = 1;
    in_parallel(reader, writer);
}
