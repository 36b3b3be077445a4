// A function gives the task a reference to a variable of its caller, which goes on at once.
//
// needs: openmp
// expect: data-race (A) (B)

static void start(int &result)
{
#pragma omp task shared(result)
    result = 1; // (A)
}

int main()
{
    int result = 0;
#pragma omp parallel
#pragma omp single
    {
        start(result);
        result = 2; // (B)
#pragma omp taskwait
    }
}
