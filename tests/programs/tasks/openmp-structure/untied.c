// An untied task is taken up again by whatever thread is free.
// finds: nothing
// spawns: 21 + 2 threads
// gcc: one phase less
int cells[20];
int main(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task untied
        {
            cells[i] = 1;
#pragma omp taskyield
            cells[i]++;
#pragma omp taskyield
            cells[i]++;
        }
    }
    return 0;
}
