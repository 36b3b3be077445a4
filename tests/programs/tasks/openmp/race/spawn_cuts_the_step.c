// A task is made between two reads: the second read races with it. The reads are in different steps of the parent, so no
// step is torn, although the variable is marked.
//
// needs: openmp
// expect: data-race (A) (B) of temperature

#include <keirin.h>

int temperature;
int before;
int after;

int main(void)
{
    keirin_group(&temperature);
#pragma omp parallel
#pragma omp single
    {
        before = temperature;
#pragma omp task
        temperature = 21; // (A)
        after = temperature; // (B)
    }
    return 0;
}
