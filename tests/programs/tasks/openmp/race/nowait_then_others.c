// Without the barrier at the end of the first loop, the second one reads what other threads may not have written yet.
//
// needs: openmp
// expect: data-race (A) (B)

enum { CELLS = 16 };

int there[CELLS];
int back[CELLS];

int main(void)
{
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < CELLS; i++)
            there[i] = i; // (A)
#pragma omp for schedule(static)
        for (int i = 0; i < CELLS; i++)
            back[i] = there[CELLS - 1 - i]; // (B)
    }
    return 0;
}
