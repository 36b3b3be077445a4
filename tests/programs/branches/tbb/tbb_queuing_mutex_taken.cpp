// A queuing mutex of oneTBB, which the side takes.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer

#include "in_parallel.h"
#include <tbb/queuing_mutex.h>

int Y, state;
tbb::queuing_mutex m;

APART void reader()
{
    int seen;
    {
        tbb::queuing_mutex::scoped_lock held(m);
        seen = state;
    }
    if (seen) {
        tbb::queuing_mutex::scoped_lock held(m);
        Y = 1;
    }
}

APART void writer()
{
    {
        tbb::queuing_mutex::scoped_lock held(m);
        state = 1;
    }
    tbb::queuing_mutex::scoped_lock held(m);
    Y = 2;
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
