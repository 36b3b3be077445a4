// The function returns early on one side.
//
// needs: openmp
// diagnose: ptracer
// expect: data-race (A) (B) of Y

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
        return;
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
