// Reductions over tasks: of a taskgroup, and of a taskloop.
//
// needs: openmp
// prints: 146 190

#include <stdio.h>

int sum;
int loop_sum;

static void add_tree(int depth)
{
#pragma omp task in_reduction(+ : sum) firstprivate(depth)
    {
        sum += depth;
        if (depth > 1) {
            add_tree(depth - 1);
            add_tree(depth - 2);
        }
    }
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        sum = 100;
#pragma omp taskgroup task_reduction(+ : sum)
        {
            add_tree(5);
#pragma omp task in_reduction(+ : sum)
            sum += 20;
        }
        sum += 0;
#pragma omp taskloop reduction(+ : loop_sum) grainsize(2)
        for (int i = 0; i < 20; i++)
            loop_sum += i;
        loop_sum += 0;
    }
    printf("%d %d\n", sum, loop_sum);
    return 0;
}
