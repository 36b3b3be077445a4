// A case of a switch that the other thread can choose.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, Z, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    switch (seen) {
    case 0:
        Z = 1;
        break;
    case 1:
        Z = 2;
        break;
    case 2:
        Y = 1; // (A)
        break;
    case 9:
        Z = 3;
        Z = Z + 1;
        break;
    }
}

APART void writer()
{
    m.lock();
    state = 2;
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
