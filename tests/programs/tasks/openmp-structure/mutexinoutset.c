// Members of the set exclude each other; the reader comes after all of them.
// finds: y
// spawns: 5 + 2 threads
// orders: 3
// gcc: one phase less
int x, y, z;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task depend(mutexinoutset : x)
            x++;
        }
#pragma omp task depend(in : x)
        {
            z = x;
            y = 1;
        }
        y = 2;
    }
    return 0;
}
