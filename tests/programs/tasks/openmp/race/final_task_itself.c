// Tasks that are made within a final task run at once. The final task itself need not: its parent must wait for it.
//
// needs: openmp
// expect: data-race (A) (B) of total

int total;
int shown;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task final(1)
        total = 5; // (A)
        shown = total; // (B)
    }
    return 0;
}
