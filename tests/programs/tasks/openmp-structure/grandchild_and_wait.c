// A wait is for children only: the grandchild may still run.
// finds: x
// spawns: 3 + 2 threads
// waits: 1
// gcc: one phase less
int x;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
#pragma omp task
            x = 1;
        }
#pragma omp taskwait
        x = 2;
    }
    return 0;
}
