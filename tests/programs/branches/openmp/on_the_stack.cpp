// Variables of the function that starts the tasks.
//
// needs: openmp
// diagnose: ptracer
// expect: data-race (A) (B)

#include "in_parallel.h"
#include <mutex>

APART void reader(std::mutex &m, int &state, int &value)
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen)
        value = 1; // (A)
}

APART void writer(std::mutex &m, int &state, int &value)
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    value = 2; // (B)
    m.unlock();
}

int main()
{
    std::mutex m;
    int state = 0, value = 0;
    in_parallel([&] { reader(m, state, value); }, [&] { writer(m, state, value); });
    return value == 0;
}
