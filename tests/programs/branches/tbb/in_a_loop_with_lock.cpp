// The same, but the side takes the lock again.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer

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
        if (seen > 5) {
            std::lock_guard<std::mutex> held(m);
            Y = 1;
        }
    }
}

APART void writer()
{
    m.lock();
    state = 7;
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
