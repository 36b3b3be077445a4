// A branch inside of the side; what comes behind it happens for certain.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, Z, state, fine;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state, other = fine;
    m.unlock();
    if (seen == 1) {
        if (other == 2)
            Z = 1;
        Y = 1; // (A)
    }
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
    fine = 0;
    in_parallel(reader, writer);
}
