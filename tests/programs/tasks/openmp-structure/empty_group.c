// Nothing is created in the group: there is nothing to tell. The task before it is not waited for.
// finds: x
// spawns: 2 + 2 threads
// finishes: 3
// gcc: one phase less
int x;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        x = 1;
#pragma omp taskgroup
        {
        }
        x = 2;
    }
    return 0;
}
