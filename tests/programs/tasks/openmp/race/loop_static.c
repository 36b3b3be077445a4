// Each iteration reads the element that the next one writes. Threads meet where their parts of the loop touch.
//
// needs: openmp
// expect: data-race (A) (A)

enum { CELLS = 64 };

int cells[CELLS + 1];

int main(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < CELLS; i++)
        cells[i] = cells[i + 1] + 1; // (A)
    return 0;
}
