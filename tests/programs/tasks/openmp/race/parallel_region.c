// All threads of a team add to one variable.
//
// needs: openmp
// expect: data-race (A) (A) of started

int started;

int main(void)
{
    started = 100;
#pragma omp parallel
    started++; // (A)
    return started < 100;
}
