// The detached task is complete as soon as its event is fulfilled. What the fulfilling task writes after that comes too
// late for the parent, which waits for the detached task and not for this grandchild.
//
// needs: openmp
// compilers: clang
// expect: data-race (A) (B) of late

#include <omp.h>

int request;
int early;
int late;
int sum;

int main(void)
{
    // With one thread nobody might ever come to the grandchild.
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t arrived;
#pragma omp task detach(arrived)
        request = 1;
#pragma omp task firstprivate(arrived)
        {
#pragma omp task firstprivate(arrived)
            {
                early = 2;
                omp_fulfill_event(arrived);
                late = 3; // (A)
            }
        }
#pragma omp taskwait
        sum = request + early;
        sum += late; // (B)
    }
    return 0;
}
