// A spin mutex of oneTBB, which the side does not take.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer
// expect: data-race (A) (B) of Y

#include "in_parallel.h"
#include <tbb/spin_mutex.h>

int Y, state;
tbb::spin_mutex m;

APART void reader()
{
    int seen;
    {
        tbb::spin_mutex::scoped_lock held(m);
        seen = state;
    }
    if (seen) {
        Y = 1; // (A)
    }
}

APART void writer()
{
    {
        tbb::spin_mutex::scoped_lock held(m);
        state = 1;
    }
    tbb::spin_mutex::scoped_lock held(m);
    Y = 2; // (B)
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
