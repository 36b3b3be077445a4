// Two sections may run at the same time, also if one thread did both in this run.
//
// needs: openmp
// expect: data-race (A) (B) of status

volatile int status;
int shown;

int main(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        status = 1; // (A)
#pragma omp section
        shown = status; // (B)
    }
    return 0;
}
