// Both variables are written under one hold of the lock: nobody sees one without the other.
//
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>

int Y, left, right;
std::mutex m;

APART void reader()
{
    m.lock();
    int sum = left + right;
    m.unlock();
    if (sum == 2)
        Y = 1;
}

APART void writer()
{
    m.lock();
    left = 2;
    right = 3;
    m.unlock();
    m.lock();
    Y = 2;
    m.unlock();
}

int main()
{
    left = 0;
    right = 0;
    in_parallel(reader, writer);
}
