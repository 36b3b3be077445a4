// All tasks within a final one are parts of it.
// finds: nothing
// spawns: 2 + 2 threads
// finishes: 3
// gcc: one phase less
int x;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task final(1)
        {
#pragma omp task
            x = 1;
            x = 2;
#pragma omp task
            x = 3;
        }
    }
    return x - 3;
}
