// What is read is written to another variable, and only that one is looked at.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, state, copy;
std::mutex m;

APART void reader()
{
    m.lock();
    copy = state + 1;
    m.unlock();
    m.lock();
    int seen = copy;
    m.unlock();
    if (seen == 2)
        Y = 1; // (A)
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
