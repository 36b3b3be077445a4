// Two tasks that nothing orders.
// finds: x
// spawns: 3 + 2 threads
// finishes: 3
// gcc: one phase less
int x;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        x = 1;
#pragma omp task
        x = 2;
    }
    return 0;
}
