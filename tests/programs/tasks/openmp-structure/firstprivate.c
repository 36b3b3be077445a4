// Private copies lie in memory that is used again for other tasks, and so do the stacks.
// finds: nothing
// spawns: 201 + 2 threads
// waits: 0
// gcc: one phase less
int cells[200];
struct large { int values[40]; };
static int use(struct large *copy, int i) {
    int local[100];
    for (int k = 0; k < 100; k++) local[k] = copy->values[k % 40] + i;
    return local[i % 100];
}
int main(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 200; i++) {
        struct large copy = {{i}};
#pragma omp task firstprivate(copy)
        {
            copy.values[1] = i;
            cells[i] = use(&copy, i);
        }
        copy.values[2] = use(&copy, i);
#pragma omp taskyield
    }
    return 0;
}
