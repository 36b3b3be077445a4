// A dependence is on a task, not on what it leaves behind.
// finds: y
// spawns: 4 + 2 threads
// orders: 1
// gcc: one phase less
int x, y;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x)
        {
#pragma omp task
            y = 1;
        }
#pragma omp task depend(in : x)
        y = 2;
    }
    return 0;
}
