// Dependences order the children of one task, not those of different ones.
// finds: x
// spawns: 5 + 2 threads
// orders: 0
// gcc: one phase less
int x;
int main(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 2; i++) {
#pragma omp task
        {
#pragma omp task depend(inout : x)
            x++;
#pragma omp taskwait
        }
    }
    return 0;
}
