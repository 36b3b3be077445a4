// The side takes a lock, but not the right one.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, state;
std::mutex m, wrong;

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen) {
        std::lock_guard<std::mutex> held(wrong);
        Y = 1; // (A)
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    std::lock_guard<std::mutex> held(m);
    Y = 2; // (B)
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
