// The second task waits for whoever writes `input`; what it reads is `output`.
//
// needs: openmp
// expect: data-race (A) (B) of output

int input;
int output;
int shown;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : output)
        output = 7; // (A)
#pragma omp task depend(in : input)
        shown = output; // (B)
    }
    return 0;
}
