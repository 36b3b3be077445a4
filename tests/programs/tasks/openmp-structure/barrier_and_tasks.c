// All tasks of a team are finished at its barrier, whoever runs them and whoever created them.
// finds: nothing
// spawns: 33 + 3 threads
// finishes: 4
int cells[32], sum, threads;
int main(void) {
#pragma omp parallel
    {
#pragma omp single nowait
        for (int i = 0; i < 32; i++) {
#pragma omp task
            cells[i] = i;
        }
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 32; i++) sum += cells[i];
#pragma omp critical
        threads++;
    }
    return sum != 496;
}
