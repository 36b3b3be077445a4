// The program of Figure 1 of the PTRacer paper: if the first task comes first it writes Y without the lock.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int X, Y;
bool C;
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
        Y = X + 1; // (A)
    }
}

APART void writer()
{
    L1.lock();
    C = true;
    Y = X + 1; // (B)
    L1.unlock();
}

int main()
{
    C = false;
    in_parallel(reader, writer);
}
