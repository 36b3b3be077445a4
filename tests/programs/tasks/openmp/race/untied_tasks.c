// Untied tasks may go on on another thread behind a taskyield. That gives no order to what they do.
//
// needs: openmp
// expect: data-race (A) (A) of served

int served;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task untied
            {
#pragma omp taskyield
                served++; // (A)
#pragma omp taskyield
            }
        }
    }
    return 0;
}
