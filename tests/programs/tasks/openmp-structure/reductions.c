// Reductions of loops, of regions and of tasks; the last loop reads the result before the barrier.
// finds: early
int early, late, highest, copies[16];
double large;
int omp_get_thread_num(void);
int main(void) {
    int by_tasks = 0;
#pragma omp parallel reduction(+ : large)
    {
#pragma omp for reduction(+ : late) reduction(max : highest)
        for (int i = 0; i < 100; i++) {
            late += i;
            if (i > highest) highest = i;
        }
        large += 0.5;
        copies[omp_get_thread_num()] = late;
#pragma omp single
        {
#pragma omp taskgroup task_reduction(+ : by_tasks)
            for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : by_tasks)
                by_tasks += i;
            }
#pragma omp taskloop reduction(+ : by_tasks) num_tasks(10)
            for (int i = 0; i < 100; i++) by_tasks += i;
        }
#pragma omp for reduction(+ : early) nowait
        for (int i = 0; i < 100; i++) early += i;
        copies[omp_get_thread_num()] = early;
    }
    return by_tasks != 4995 || late != 4950;
}
