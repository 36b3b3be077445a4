// A flag that is written with release and read with acquire brings the message along.
//
// needs: openmp
// prints: 42

#include <cstdio>
#include <omp.h>

int flag;
int message;
int received;

int main()
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            message = 42;
#pragma omp atomic write release
            flag = 1;
        } else {
            int ready = 0;
            while (!ready) {
#pragma omp atomic read acquire
                ready = flag;
            }
            received = message;
        }
    }
    std::printf("%d\n", received);
}
