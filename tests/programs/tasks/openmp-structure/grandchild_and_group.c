// A group is for all descendants.
// finds: nothing
// spawns: 3 + 2 threads
// finishes: 4
// gcc: one phase less
int x;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                x = 1;
            }
        }
        x = 2;
    }
    return 0;
}
