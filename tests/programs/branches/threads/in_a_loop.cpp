// The branch is in a loop; each turn looks again.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, state;
std::mutex m;

APART void reader()
{
    for (int turn = 0; turn < 3; turn++) {
        m.lock();
        int seen = state;
        m.unlock();
        if (seen > 5)
            Y = 1; // (A)
    }
}

APART void writer()
{
    m.lock();
    state = 7;
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
