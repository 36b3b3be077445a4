// The side reads as a reader; the other thread writes as the writer.
//
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>
#include <shared_mutex>

int Y, Z, state;
std::shared_mutex m;

APART void reader()
{
    m.lock_shared();
    int seen = state;
    m.unlock_shared();
    if (seen) {
        std::shared_lock<std::shared_mutex> held(m);
        Z = Y;
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    std::unique_lock<std::shared_mutex> held(m);
    Y = 2;
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
