// Two loops made one: the threads share the pairs of numbers.
//
// needs: openmp
// prints: 2025

#include <cstdio>

int products[10][10];

int main()
{
    int sum = 0;
#pragma omp parallel for collapse(2) schedule(dynamic, 7)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++)
            products[i][j] = i * j;
    for (auto &row : products)
        for (int product : row)
            sum += product;
    std::printf("%d\n", sum);
}
