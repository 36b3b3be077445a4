// Tasks of inner teams end with their team.
//
// needs: openmp
// prints: 30

#include <cstdio>
#include <omp.h>

int cells[2][4];

int main()
{
    int sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        auto &mine = cells[omp_get_thread_num()];
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
            mine[i] = i + 1;
        }
        if (omp_get_num_threads() == 2)
            sum += mine[0] + mine[1] + mine[2] + mine[3] + 5;
    }
    std::printf("%d\n", sum);
}
