// The flag itself is atomic, but relaxed: without a flush, or an order of release and acquire, it does not bring the
// message along.
//
// needs: openmp
// expect: data-race (A) (B) of message

#include <omp.h>

int flag;
int message;
int received;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            message = 42; // (A)
#pragma omp atomic write
            flag = 1;
        } else {
            int ready = 0;
            while (!ready) {
#pragma omp atomic read
                ready = flag;
            }
            received = message; // (B)
        }
    }
    return 0;
}
