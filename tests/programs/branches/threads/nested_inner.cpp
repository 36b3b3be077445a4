// The inner one of two branches is the one that can go the other way.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>

int Y, on = 1, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state, wanted = on;
    m.unlock();
    if (wanted) {
        if (seen) {
            m.lock();
            Y = 3;
            m.unlock();
        } else {
            Y = 1; // (A)
        }
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
    on = 1;
    state = 0;
    in_parallel(reader, writer);
}
