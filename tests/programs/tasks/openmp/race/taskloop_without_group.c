// With nogroup a taskloop does not wait for its tasks.
//
// needs: openmp
// expect: data-race (A) (B)

enum { CELLS = 8 };

int cells[CELLS];
int first;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop nogroup
        for (int i = 0; i < CELLS; i++)
            cells[i] = i * i; // (A)
        first = cells[0]; // (B)
    }
    return 0;
}
