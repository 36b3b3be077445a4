// Critical sections: unnamed ones are all one lock, and those of one name are another.
//
// needs: openmp
// prints: 8 -8

#include <stdio.h>

int stock, balance;

static void buy(void)
{
#pragma omp critical
    stock++;
#pragma omp critical(account)
    balance -= 2;
}

static void sell(void)
{
#pragma omp critical(account)
    {
        balance++;
#pragma omp critical
        stock++;
    }
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 4; i++) {
#pragma omp task
            buy();
#pragma omp task
            sell();
        }
    }
    printf("%d %d\n", stock, balance - 4);
    return 0;
}
