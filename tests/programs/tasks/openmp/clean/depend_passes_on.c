// The order of dependences goes on to what the tasks wait for: the first task waits for its child before it ends.
//
// needs: openmp
// prints: 3

#include <stdio.h>

int token;
int part, whole;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : token)
        {
#pragma omp task
            part = 3;
#pragma omp taskwait
        }
#pragma omp task depend(inout : token)
        token = 1;
#pragma omp task depend(in : token)
        {
#pragma omp task
            whole = part;
        }
    }
    printf("%d\n", whole);
    return 0;
}
