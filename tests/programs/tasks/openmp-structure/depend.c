// A writer, readers, a writer: four orders. The second round is known to be finished by a wait for dependences.
// finds: nothing
// spawns: 5 + 2 threads
// orders: 4
// joins: 1
// gcc: one phase less
int x, a, b;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x)
        x = 1;
#pragma omp task depend(in : x)
        a = x;
#pragma omp task depend(in : x)
        b = x;
#pragma omp task depend(inout : x)
        x = 2;
#pragma omp taskwait depend(in : x)
        a = b = x;
    }
    return 0;
}
