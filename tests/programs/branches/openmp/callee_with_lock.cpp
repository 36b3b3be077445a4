// The function that the side calls takes the lock.
//
// needs: openmp
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>

int Y, state;
std::mutex m;

APART static void store(int value)
{
    std::lock_guard<std::mutex> held(m);
    Y = value;
}

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen)
        store(1);
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
