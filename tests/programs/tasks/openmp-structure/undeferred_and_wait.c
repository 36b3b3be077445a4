// The wait within a task that is not deferred is for its own children, not for those of its parent.
// finds: other
// spawns: 4 + 2 threads
// waits: 1
// joins: 1
// gcc: one phase less
int own, other;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        other = 1;
#pragma omp task if (0)
        {
#pragma omp task
            own = 1;
#pragma omp taskwait
            own = 2;
            other = 2;
        }
        own = 3;
    }
    return 0;
}
