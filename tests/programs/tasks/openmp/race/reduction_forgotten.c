// A sum over a loop without the reduction clause.
//
// needs: openmp
// expect: data-race (A) (A) of sum

enum { VALUES = 64 };

int values[VALUES];
volatile int sum;

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        values[i] = i;
#pragma omp parallel for
    for (int i = 0; i < VALUES; i++)
        sum = sum + values[i]; // (A)
    return 0;
}
