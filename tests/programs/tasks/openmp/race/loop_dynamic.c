// Every iteration leaves its number. Which thread does which iterations is decided at run time, so any two may meet, also
// if one thread was quick enough to do them all.
//
// needs: openmp
// expect: data-race (A) (A) of latest

int latest;

int main(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 32; i++)
        latest = i; // (A)
    return 0;
}
