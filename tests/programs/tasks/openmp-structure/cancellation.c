// Tasks that are cancelled end without having done anything.
// finds: nothing
// variable: OMP_CANCELLATION=true
// spawns: 21 + 2 threads
// finishes: 4
int cells[20], threads;
int main(void) {
#pragma omp parallel
    {
#pragma omp single
        {
#pragma omp taskgroup
            for (int i = 0; i < 20; i++) {
#pragma omp task
                {
#pragma omp cancel taskgroup if (i == 3)
                    cells[i] = i;
                }
            }
            for (int i = 0; i < 20; i++) cells[i]++;
        }
#pragma omp critical
        threads++;
    }
    return 0;
}
