// A taskwait with a dependence waits for the tasks that it names, not for the others.
//
// needs: openmp
// expect: data-race (A) (B) of right

int left;
int right;
int sum;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : left)
        left = 1;
#pragma omp task depend(out : right)
        right = 2; // (A)
#pragma omp taskwait depend(in : left)
        sum = left;
        sum += right; // (B)
    }
    return 0;
}
