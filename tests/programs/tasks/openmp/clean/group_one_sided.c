// One task reads two variables that belong together, each under the lock by itself. The other one changes only one of them,
// which it could have done before or after both.
//
// needs: openmp

#include <keirin.h>

int length, width;
int area;

int main(void)
{
    keirin_group(&length, &width);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            int first, second;
#pragma omp critical(sizes)
            first = length;
#pragma omp critical(sizes)
            second = width;
            area = first * second;
        }
#pragma omp task
        {
#pragma omp critical(sizes)
            length = 4;
        }
    }
    return 0;
}
