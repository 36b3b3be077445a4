// The same, on a side that nobody can choose.
//
// needs: openmp
// diagnose: task-atomicity

#include "in_parallel.h"
#include <mutex>

int total, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state;
    int before = total;
    m.unlock();
    if (seen == 2) {
        m.lock();
        total = before + 1;
        m.unlock();
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    total = 5;
    m.unlock();
}

int main()
{
    total = 0;
    state = 0;
    in_parallel(reader, writer);
}
