// The first block is in a task of the outer group; the second one was waited for before the write, so that it is whole. To
// find this, both must be remembered.
//
// needs: openmp
// expect: atomicity-violation not waited for

#include <keirin.h>

int value;
int seen[4];

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            KEIRIN_ATOMIC("not waited for")
            {
#pragma omp critical(value)
                seen[0] = value;
#pragma omp critical(value)
                seen[1] = value;
            }
        }
#pragma omp taskgroup
        {
#pragma omp task
            {
                KEIRIN_ATOMIC("waited for")
                {
#pragma omp critical(value)
                    seen[2] = value;
#pragma omp critical(value)
                    seen[3] = value;
                }
            }
        }
#pragma omp critical(value)
        value = 1;
    }
    return 0;
}
