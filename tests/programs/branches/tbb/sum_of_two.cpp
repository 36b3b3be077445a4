// The condition is about two variables, both of which must have been written.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, left, right;
std::mutex m;

APART void reader()
{
    m.lock();
    int sum = left + right;
    m.unlock();
    if (sum == 5)
        Y = 1; // (A)
}

APART void writer()
{
    m.lock();
    left = 2;
    right = 3;
    m.unlock();
    m.lock();
    Y = 2; // (B)
    m.unlock();
}

int main()
{
    left = 0;
    right = 0;
    in_parallel(reader, writer);
}
