// A barrier is the end of all that came before it.
// finds: nothing
// spawns: 1 + 2 threads
// finishes: 3
int x, seen[16];
int omp_get_thread_num(void);
int main(void) {
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) x = 1;
#pragma omp barrier
        seen[omp_get_thread_num()] = x;
    }
    return x - 1;
}
