// The inner side could be chosen, the outer one cannot.
//
// needs: openmp
// diagnose: ptracer

#include "in_parallel.h"
#include <mutex>

int Y, on, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state, wanted = on;
    m.unlock();
    if (wanted) {
        if (seen)
            Y = 1;
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    Y = 2;
    m.unlock();
}

int main()
{
    on = 0;
    state = 0;
    in_parallel(reader, writer);
}
