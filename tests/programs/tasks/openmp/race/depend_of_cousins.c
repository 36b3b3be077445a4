// Dependences are between children of one parent. These two tasks have different parents and nothing orders them.
//
// needs: openmp
// expect: data-race (A) (A) of shelf

int shelf;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int parent = 0; parent < 2; parent++) {
#pragma omp task
            {
#pragma omp task depend(inout : shelf)
                shelf++; // (A)
#pragma omp taskwait
            }
        }
    }
    return 0;
}
