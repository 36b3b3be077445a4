// Each iteration waits for the one two before it, and reads what the one before it writes.
//
// needs: openmp
// expect: data-race (A) (A)

enum { CELLS = 16 };

int cells[CELLS];

int main(void)
{
    cells[0] = cells[1] = 1;
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(2)
    for (int i = 2; i < CELLS; i++) {
#pragma omp ordered depend(sink : i - 2)
        cells[i] = cells[i - 1] + cells[i - 2]; // (A)
#pragma omp ordered depend(source)
    }
    return 0;
}
