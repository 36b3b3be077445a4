// One side throws, which is not followed; the other one writes.
//
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <mutex>
#include <stdexcept>

int Y, state = 1;
std::mutex m;

APART void checked()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen < 0)
        throw std::runtime_error("negative");
    if (seen == 2)
        Y = 1; // (A)
}

APART void reader()
{
    try {
        checked();
    } catch (const std::runtime_error &) {
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
    state = 1;
    in_parallel(reader, writer);
}
