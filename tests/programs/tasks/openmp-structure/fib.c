// Tasks that wait for their children: two for each call with a number of at least two.
// finds: nothing
// spawns: 41 + 2 threads
// finishes: 3
// waits: 20
// gcc: one phase less
int result;
static int fib(int n) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
int main(void) {
#pragma omp parallel
#pragma omp single
    result = fib(7);
    return result != 13;
}
