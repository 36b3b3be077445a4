// The loop waits for its tasks; without a group it does not.
// finds: lost
// spawns: 9 + 2 threads
// finishes: 4
// gcc: one phase less
int kept[8], lost[8], sum;
int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop num_tasks(4)
        for (int i = 0; i < 8; i++) kept[i] = i;
#pragma omp taskloop num_tasks(4) nogroup
        for (int i = 0; i < 8; i++) lost[i] = i;
        for (int i = 0; i < 8; i++) sum += kept[i] + lost[i];
    }
    return 0;
}
