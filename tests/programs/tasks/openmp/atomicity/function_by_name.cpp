// A function that is to be atomic, named on the command line.
//
// needs: openmp
// run: --atomic +withdraw
// expect: atomicity-violation withdraw

#include <omp.h>

int balance;

__attribute__((noinline)) static void withdraw(int amount)
{
    int seen;
#pragma omp critical(balance)
    seen = balance;
#pragma omp critical(balance)
    balance = seen - amount;
}

int main()
{
    balance = 100;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 1; i <= 2; i++) {
#pragma omp task firstprivate(i)
            withdraw(i);
        }
    }
}
