// An update that is begun under one hold of a lock and ended under another, on a side that the other task can choose.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: task-atomicity
// expect: lock-gap (A) (B) (C)

#include "in_parallel.h"
#include <mutex>

int total, state;
std::mutex m;

APART void reader()
{
    m.lock();
    int seen = state;
    int before = total; // (A)
    m.unlock();
    if (seen == 1) {
        m.lock();
        total = before + 1; // (B)
        m.unlock();
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    total = 5; // (C)
    m.unlock();
}

int main()
{
    total = 0;
    state = 0;
    in_parallel(reader, writer);
}
