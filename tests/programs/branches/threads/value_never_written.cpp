// The side needs a value that nobody writes.
//
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
    if (seen == 3)
        Y = 1;
}

APART void writer()
{
    m.lock();
    state = 2;
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
