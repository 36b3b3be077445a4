// The reader depends on something else than what it reads.
// finds: x
// spawns: 3 + 2 threads
// orders: 0
// gcc: one phase less
int x, y, a;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x)
        x = 1;
#pragma omp task depend(in : y)
        a = x;
    }
    return 0;
}
