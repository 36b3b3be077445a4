// A std::unique_lock that is unlocked before its end.
//
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
    if (seen) {
        std::unique_lock<std::mutex> held(m);
        X = 1;
        held.unlock();
        Y = 1; // (A)
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    std::lock_guard<std::mutex> held(m);
    X = 2;
    Y = 2; // (B)
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
