// A detached task that another one depends on: its body may have ended long ago, or the event may be fulfilled before the
// body begins.
//
// needs: openmp
// compilers: clang
// prints: 6

#include <cstdio>
#include <omp.h>

int request, answer, sum;

int main()
{
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t arrived;
#pragma omp task detach(arrived) depend(out : request)
        request = 2;
#pragma omp task firstprivate(arrived)
        {
            answer = 4;
            omp_fulfill_event(arrived);
        }
#pragma omp task depend(in : request)
        sum = request + answer;
    }
    std::printf("%d\n", sum);
}
