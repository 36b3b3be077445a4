// Two tasks of one parent count in one variable. The taskwait orders them before what follows, but not among each other.
//
// needs: openmp
// expect: data-race (A) (A) of visitors

int visitors;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int door = 0; door < 2; door++) {
#pragma omp task
            visitors++; // (A)
        }
#pragma omp taskwait
        visitors += 10;
    }
    return 0;
}
