// The side writes while it holds the mutex only as a reader.
//
// needs: tbb
// cc: -DUSE_TBB
// diagnose: ptracer

#include "in_parallel.h"
#include <tbb/spin_rw_mutex.h>

int Y, state;
tbb::spin_rw_mutex m;

APART void reader()
{
    int seen;
    {
        tbb::spin_rw_mutex::scoped_lock held(m);
        seen = state;
    }
    if (seen) {
        tbb::spin_rw_mutex::scoped_lock held(m, false);
        Y = 1;
    }
}

APART void writer()
{
    {
        tbb::spin_rw_mutex::scoped_lock held(m);
        state = 1;
    }
    tbb::spin_rw_mutex::scoped_lock held(m);
    Y = 2;
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
