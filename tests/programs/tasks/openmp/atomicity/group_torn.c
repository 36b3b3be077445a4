// A length and a width that belong together, changed and read without a lock: who reads may see one old and one new.
//
// needs: openmp
// expect: data-race (A) (C) of length
// expect: data-race (B) (D) of width
// expect: atomicity-violation (A) (B) (C) (D)

#include <keirin.h>

int length, width;
int seen[2];

int main(void)
{
    keirin_group(&length, &width);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            length = 4; // (A)
            width = 5; // (B)
        }
#pragma omp task
        {
            seen[0] = length; // (C)
            seen[1] = width; // (D)
        }
    }
    return 0;
}
