// The parent uses what its task works out without waiting for the task.
//
// needs: openmp
// expect: data-race (A) (B) of answer

int answer;
int shown;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        answer = 42; // (A)
        shown = answer; // (B)
    }
    return 0;
}
