// Two writers are waited for before the block begins. A third one, beside all of them, is not.
//
// needs: openmp
// expect: atomicity-violation look twice

#include <keirin.h>

int value;
int seen[2];

static void write(int number)
{
#pragma omp critical(value)
    value = number;
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
#pragma omp taskgroup
            {
#pragma omp task
                write(1);
#pragma omp task
                write(2);
            }
            KEIRIN_ATOMIC("look twice")
            {
#pragma omp critical(value)
                seen[0] = value;
#pragma omp critical(value)
                seen[1] = value;
            }
        }
#pragma omp task
        write(3);
    }
    return 0;
}
