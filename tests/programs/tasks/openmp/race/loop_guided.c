// The greatest value is looked for by all threads at once in one variable.
//
// needs: openmp
// expect: data-race (A) (A) of greatest

volatile int greatest;

static int value(int i)
{
    return i * 37 % 101;
}

int main(void)
{
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < 100; i++) {
        int mine = value(i);
        greatest = greatest > mine ? greatest : mine; // (A)
    }
    return 0;
}
