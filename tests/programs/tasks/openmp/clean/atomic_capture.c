// Taking a number and moving on to the next in one atomic operation: the block has nothing that could be torn.
//
// needs: openmp
// prints: 6

#include <keirin.h>
#include <stdio.h>

int next;
int numbers[4];

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
            {
                KEIRIN_ATOMIC("take a number")
                {
                    int mine;
#pragma omp atomic capture
                    mine = next++;
                    numbers[i] = mine;
                }
            }
        }
    }
    printf("%d\n", numbers[0] + numbers[1] + numbers[2] + numbers[3]);
    return 0;
}
