// Loops of all schedules, sections, single with a copy for all, master: barriers in between keep all of it apart.
// finds: nothing
int cells[64], copy, one, two, total;
int main(void) {
#pragma omp parallel
    {
        int mine;
#pragma omp for schedule(static)
        for (int i = 0; i < 64; i++) cells[i] = i;
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 64; i++) cells[63 - i]++;
#pragma omp for schedule(guided)
        for (int i = 0; i < 64; i++) cells[i]++;
#pragma omp sections
        {
#pragma omp section
            one = cells[0];
#pragma omp section
            two = cells[1];
        }
#pragma omp single copyprivate(mine)
        mine = one + two;
#pragma omp master
        copy = mine;
#pragma omp barrier
#pragma omp atomic
        total += copy;
    }
    return 0;
}
