// The iterations of a dynamic loop: any two may run at the same time, also if one thread did them all.
//
// needs: openmp
// expect: atomicity-violation take

#include <keirin.h>

int next;
int numbers[8];

int main(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        KEIRIN_ATOMIC("take")
        {
#pragma omp critical(next)
            numbers[i] = next;
#pragma omp critical(next)
            next = numbers[i] + 1;
        }
    }
    return 0;
}
