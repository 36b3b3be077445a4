// Two calls deep, with the address as an argument.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B)

#include "in_parallel.h"
#include <mutex>

int table[8], state;
std::mutex m;

APART static void store(int *where, int value)
{
    *where = value; // (A)
}

APART static void fill(int *where)
{
    store(where + 1, 5);
}

APART void reader()
{
    m.lock();
    int seen = state;
    m.unlock();
    if (seen)
        fill(&table[2]);
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    m.lock();
    table[3] = 2; // (B)
    m.unlock();
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
