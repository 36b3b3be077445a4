// A named and an unnamed critical section are two locks as well; the unnamed ones are all one.
//
// needs: openmp
// expect: data-race (A) (B) of balance

int balance;
int interest;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
#pragma omp critical
            interest = 1;
#pragma omp critical
            balance += 100; // (A)
        }
#pragma omp task
        {
#pragma omp critical
            interest = 2;
#pragma omp critical(account)
            balance -= 30; // (B)
        }
    }
    return 0;
}
