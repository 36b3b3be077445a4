// A reduction of a whole region and one of a loop in it, which is read behind the barrier of the loop.
//
// needs: openmp
// prints: 496 complete

#include <omp.h>
#include <stdio.h>

int sum;

int main(void)
{
    int threads = 0, present = 0, equal = 0;
#pragma omp parallel reduction(+ : present, equal)
    {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 32; i++)
            sum += i;
        present++;
        equal += sum == 496;
#pragma omp master
        threads = omp_get_num_threads();
    }
    printf("%d %s\n", sum, present == threads && equal == threads ? "complete" : "wrong");
    return 0;
}
