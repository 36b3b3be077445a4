// The results are read before they are there.
// finds: parts
// spawns: 41 + 2 threads
// finishes: 3
// gcc: one phase less
int parts[64], dummy;
static void fib(int n, int at) {
    if (n < 2) return;
#pragma omp task
    fib(n - 1, (2 * at + 1) % 64);
#pragma omp task
    fib(n - 2, (2 * at + 2) % 64);
    parts[at] = parts[(2 * at + 1) % 64] + 1;
}
int main(void) {
#pragma omp parallel
#pragma omp single
    fib(7, 0);
    return 0;
}
