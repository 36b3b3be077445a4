// Two tasks exclude each other; a third one adds to the same sum and has no dependence at all.
//
// needs: openmp
// expect: data-race (A) (B) of sum

int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(mutexinoutset : sum)
            sum += 10; // (A)
        }
#pragma omp task
        sum++; // (B)
    }
    return 0;
}
