// The tasks that a thread creates in its chunks of a loop may run until somebody waits for them; the end of a loop with
// `nowait` does not.
//
// needs: openmp
// expect: data-race (A) (B)

enum { CELLS = 16 };

int cells[CELLS];
int copies[CELLS];

int main(void)
{
#pragma omp parallel
    {
        int got[CELLS], number = 0;
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < CELLS; i++) {
            got[number++] = i;
#pragma omp task
            cells[i] = i; // (A)
        }
        for (int i = 0; i < number; i++)
            copies[got[i]] = cells[got[i]]; // (B)
    }
    return 0;
}
