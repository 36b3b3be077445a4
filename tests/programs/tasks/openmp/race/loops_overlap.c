// Each task goes through its part of the array in a loop, and the parts have some elements in common: every one of them is a race, between
// accesses that each are one of many. Built with --lean both loops are told at once.
//
// needs: openmp
// expect: data-race (A) (B)

long numbers[64];

static void fill(long from, long to)
{
    for (long i = from; i < to; i++)
        numbers[i] = i * i; // (A)
}

static long sum(long from, long to)
{
    long result = 0;
    for (long i = from; i < to; i++)
        result += numbers[i]; // (B)
    return result;
}

long result;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        fill(0, 40);
#pragma omp task
        result = sum(36, 64);
    }
    return 0;
}
