// The task is complete when its event is fulfilled. What the fulfilling task wrote before comes before all that waited.
//
// needs: openmp
// compilers: clang
// prints: 3

#include <omp.h>
#include <stdio.h>

int request;
int answer;
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
            // A grandchild, for which the parent does not wait.
#pragma omp task firstprivate(arrived)
            {
                answer = 2;
                omp_fulfill_event(arrived);
            }
        }
#pragma omp taskwait
        sum = request + answer;
    }
    printf("%d\n", sum);
    return 0;
}
