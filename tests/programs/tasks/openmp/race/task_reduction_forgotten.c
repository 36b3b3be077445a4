// The taskgroup declares a reduction, but two of its tasks do not take part in it and add to the original.
//
// needs: openmp
// expect: data-race (A) (A) of sum

int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
        {
#pragma omp task in_reduction(+ : sum)
            sum += 100;
            for (int i = 0; i < 2; i++) {
#pragma omp task shared(sum)
                sum += 1; // (A)
            }
        }
    }
    return 0;
}
