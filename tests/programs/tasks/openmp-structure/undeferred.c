// A task that is not deferred is a part of its parent; a deferred one within it is not.
// finds: late
// spawns: 3 + 2 threads
// joins: 1
// gcc: one phase less
int early, late;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task if (0)
        early = 1;
        early = 2;
#pragma omp task if (0)
        {
            early = 3;
#pragma omp task
            late = 1;
            early = 4;
        }
        early = 5;
#pragma omp taskwait
        late = 2;
    }
    return 0;
}
