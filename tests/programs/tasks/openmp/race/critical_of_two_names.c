// Critical sections of different names do not exclude each other.
//
// needs: openmp
// expect: data-race (A) (B) of stock

int stock;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
#pragma omp critical(purchase)
            stock++; // (A)
        }
#pragma omp task
        {
#pragma omp critical(sale)
            stock--; // (B)
        }
    }
    return 0;
}
