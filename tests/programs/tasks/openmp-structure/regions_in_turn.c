// A parallel region comes after all of the one before.
// finds: nothing
// spawns: 3 + 3 threads
// finishes: 6
int x;
int main(void) {
    for (int i = 0; i < 3; i++) {
#pragma omp parallel
        {
#pragma omp critical
            x++;
        }
        x++;
    }
    return 0;
}
