// Teams within teams: each is finished for the thread that made it, and parallel to those of others.
// finds: shared
// spawns: 12 + 0 threads
int own[2], shared;
void omp_set_max_active_levels(int);
int omp_get_thread_num(void);
static void inner(int *cell) {
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        (*cell)++;
    }
    (*cell)++;
}
int main(void) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        inner(&own[omp_get_thread_num()]);
#pragma omp critical
        shared++;
        if (omp_get_thread_num() == 0) inner(&shared);
    }
    return 0;
}
