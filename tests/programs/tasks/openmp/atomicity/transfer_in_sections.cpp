// A transfer in one section and an audit in the other: the audit takes both locks, but the transfer takes one after the
// other, and the money on its way is missed.
//
// needs: openmp
// expect: atomicity-violation (A) (B) (C)

#include <keirin.h>
#include <omp.h>

struct Account {
    omp_lock_t lock;
    int balance;
};

Account savings, current;
int sum;

int main()
{
    omp_init_lock(&savings.lock);
    omp_init_lock(&current.lock);
    keirin_group(&savings.balance, &current.balance);
#pragma omp parallel sections
    {
#pragma omp section
        {
            omp_set_lock(&savings.lock);
            savings.balance -= 50; // (A)
            omp_unset_lock(&savings.lock);
            omp_set_lock(&current.lock);
            current.balance += 50; // (B)
            omp_unset_lock(&current.lock);
        }
#pragma omp section
        {
            omp_set_lock(&savings.lock);
            omp_set_lock(&current.lock);
            sum = savings.balance + current.balance; // (C)
            omp_unset_lock(&current.lock);
            omp_unset_lock(&savings.lock);
        }
    }
    omp_destroy_lock(&savings.lock);
    omp_destroy_lock(&current.lock);
}
