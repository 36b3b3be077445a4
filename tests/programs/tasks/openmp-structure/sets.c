// Members of an inoutset are not ordered among themselves; all memory is every address.
// finds: x
// compilers: clang-19
// spawns: 6 + 2 threads
// orders: 4
int x, y, z;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(inoutset : x)
        x = 1;
#pragma omp task depend(inoutset : x)
        x = 2;
#pragma omp task depend(out : y)
        y = 1;
#pragma omp task depend(out : omp_all_memory)
        z = x + y;
#pragma omp task depend(in : z)
        y = z;
    }
    return 0;
}
