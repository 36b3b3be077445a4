// A taskwait waits for children, not for their children: the grandchild may still be writing.
//
// needs: openmp
// expect: data-race (A) (B) of leaf

int leaf;
int seen;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
#pragma omp task
            leaf = 1; // (A)
        }
#pragma omp taskwait
        seen = leaf; // (B)
    }
    return 0;
}
