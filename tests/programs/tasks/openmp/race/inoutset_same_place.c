// Tasks of one inoutset may run at the same time, so each must write to a place of its own. These two do not.
//
// needs: openmp
// compilers: clang
// expect: data-race (A) (A)

int table[2];

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(inoutset : table)
            table[0] += 1; // (A)
        }
#pragma omp task depend(in : table)
        table[1] = table[0];
    }
    return 0;
}
