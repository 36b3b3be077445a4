// Without a barrier one thread reads what another one writes.
// finds: x
// spawns: 1 + 1 threads
// finishes: 2
int x, seen[16];
int omp_get_thread_num(void);
int main(void) {
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) x = 1;
        seen[omp_get_thread_num()] = x;
    }
    return 0;
}
