// A flag and flushes: the message is there before the flag, and is looked at after it.
//
// needs: openmp
// prints: 42

#include <omp.h>
#include <stdio.h>

int flag;
int message;
int received;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            message = 42;
#pragma omp flush
#pragma omp atomic write
            flag = 1;
        } else {
            int ready = 0;
            while (!ready) {
#pragma omp atomic read
                ready = flag;
            }
#pragma omp flush
            received = message;
        }
    }
    printf("%d\n", received);
    return 0;
}
