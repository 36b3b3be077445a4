// Figure 1, but C is true before both tasks: no schedule takes the side without the lock.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>

int X, Y;
bool C = true;
std::mutex L1;

APART void reader()
{
    L1.lock();
    bool t = C;
    L1.unlock();
    if (t) {
        L1.lock();
        Y = X - 1;
        L1.unlock();
    } else {
        Y = X + 1;
    }
}

APART void writer()
{
    L1.lock();
    C = true;
    Y = X + 1;
    L1.unlock();
}

int main()
{
    C = true;
    in_parallel(reader, writer);
}
