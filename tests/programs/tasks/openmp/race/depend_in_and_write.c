// Both tasks say that they only read the list. They come after the one that makes it, and in any order, but they write.
//
// needs: openmp
// expect: data-race (A) (A) of list

int list;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : list)
        list = 1;
        for (int i = 0; i < 2; i++) {
#pragma omp task depend(in : list)
            list += 2; // (A)
        }
#pragma omp task depend(inout : list)
        list *= 3;
    }
    return 0;
}
