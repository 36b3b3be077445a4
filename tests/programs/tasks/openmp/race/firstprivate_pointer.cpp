// The tasks have copies of the pointer, not of what it points to.
//
// needs: openmp
// expect: data-race (A) (A)

struct Account {
    long balance = 0;
};

int main()
{
    Account account;
    Account *pointer = &account;
#pragma omp parallel
#pragma omp single
    {
        for (int amount = 1; amount <= 2; amount++) {
#pragma omp task firstprivate(pointer, amount)
            pointer->balance += amount; // (A)
        }
    }
}
