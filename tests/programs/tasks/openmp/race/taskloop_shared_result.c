// Every task of a taskloop leaves its result in the same place.
//
// needs: openmp
// expect: data-race (A) (A) of latest

int latest;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 4; i++)
            latest = i; // (A)
    }
    return 0;
}
