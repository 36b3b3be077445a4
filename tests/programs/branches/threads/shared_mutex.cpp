// The side reads as a reader; the other thread writes as the writer.
//
// diagnose: ptracer

#include "in_parallel.h"
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
    std::unique_lock<std::shared_mutex> held(m);
    state = 1;
    Y = 2;
}

int main() { in_parallel(reader, writer); }
