// Of the elements that the loop may write one is written by the other task.
//
// needs: openmp
// diagnose: ptracer
// expect: data-race (A) (B)

#include "in_parallel.h"
#include <mutex>

int cells[4], state;
std::mutex m;

APART void reader()
{
    for (int i = 0; i < 3; i++) {
        m.lock();
        int seen = state;
        m.unlock();
        if (seen == 1)
            cells[i] = 1; // (A)
    }
}

APART void writer()
{
    m.lock();
    state = 1;
    m.unlock();
    cells[2] = 2; // (B)
}

int main()
{
    state = 0;
    in_parallel(reader, writer);
}
