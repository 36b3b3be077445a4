// Taskgroups in each other: the inner one ends while a task of the outer one still runs.
//
// needs: openmp
// expect: data-race (A) (B) of outer

int outer;
int inner;
int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                outer = 1; // (A)
            }
#pragma omp taskgroup
            {
#pragma omp task
                {
#pragma omp task
                    inner = 2;
                }
            }
            sum = inner;
            sum += outer; // (B)
        }
        sum += outer;
    }
    return 0;
}
