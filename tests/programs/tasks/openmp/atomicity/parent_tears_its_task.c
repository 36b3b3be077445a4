// The parent goes on while its task runs: what it writes falls between the two reads of the task.
//
// needs: openmp
// expect: atomicity-violation compare

#include <keirin.h>

int value;
int first, second;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("compare")
            {
#pragma omp critical(value)
                first = value;
#pragma omp critical(value)
                second = value;
            }
        }
#pragma omp critical(value)
        value = 1;
#pragma omp taskwait
        value = first + second;
    }
    return 0;
}
