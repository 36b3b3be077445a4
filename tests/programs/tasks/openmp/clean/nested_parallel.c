// Teams within a team: each inner team has its own cells and barriers, and the outer one waits for all of them.
//
// needs: openmp
// prints: 13

#include <omp.h>
#include <stdio.h>

int cells[2][2];
int sums[2];

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int team = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        {
            int mine = omp_get_thread_num();
            cells[team][mine] = 1 + team + mine;
#pragma omp barrier
            if (mine == 1)
                sums[team] = cells[team][0] + cells[team][1];
        }
        sums[team] += cells[team][1];
#pragma omp barrier
        if (team == 1)
            sums[1] += sums[0];
    }
    printf("%d\n", sums[1]);
    return 0;
}
