// Blocks that must be whole, of tasks that are in order: by dependences, by a taskwait, by being made later.
//
// needs: openmp
// prints: 6

#include <cstdio>
#include <keirin.h>

int value;

static void change(int by)
{
    KEIRIN_ATOMIC("change")
    {
        int seen = value;
        value = seen + by;
    }
}

int main()
{
#pragma omp parallel
#pragma omp single
    {
        change(1);
#pragma omp task depend(inout : value)
        change(2);
#pragma omp task depend(inout : value)
        change(2);
#pragma omp taskwait
        change(1);
    }
    std::printf("%d\n", value);
}
