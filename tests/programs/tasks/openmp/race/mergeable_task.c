// A task that is allowed to be merged is a task like others: it may be deferred, and nobody waits for it here.
//
// needs: openmp
// expect: data-race (A) (B) of level

int level;
int shown;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task mergeable
        level = 3; // (A)
        shown = level; // (B)
    }
    return 0;
}
