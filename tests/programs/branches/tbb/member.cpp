// Members of an object, in its methods.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B)

#include "in_parallel.h"
#include <mutex>

struct Counter {
    std::mutex m;
    int total = 0;
    bool closed = false;

    APART void add()
    {
        bool full;
        {
            std::lock_guard<std::mutex> held(m);
            full = closed;
        }
        if (full)
            total = -1; // (A)
    }

    APART void close()
    {
        {
            std::lock_guard<std::mutex> held(m);
            closed = true;
        }
        std::lock_guard<std::mutex> held(m);
        total = 9; // (B)
    }
} counter;

int main()
{
    counter.closed = false;
    in_parallel([] { counter.add(); }, [] { counter.close(); });
}
