// One task counts by atomic operations, the other one resets the counter with a plain write.
//
// needs: openmp
// expect: data-race (A) (B) of hits

int hits;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            // In one line, since gcc names that of the directive.
            _Pragma("omp atomic") hits++; // (A)
        }
#pragma omp task
        hits = 0; // (B)
    }
    return 0;
}
