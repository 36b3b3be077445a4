// A wave goes over a table: each cell waits for its upper and its left neighbour.
//
// needs: openmp
// prints: 3432

#include <cstdio>

constexpr int SIZE = 8;

int cells[SIZE][SIZE];

int main()
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                if (i == 0 || j == 0) {
#pragma omp task depend(out : cells[i][j]) firstprivate(i, j)
                    cells[i][j] = 1;
                } else {
#pragma omp task depend(in : cells[i - 1][j], cells[i][j - 1]) depend(out : cells[i][j]) firstprivate(i, j)
                    cells[i][j] = cells[i - 1][j] + cells[i][j - 1];
                }
            }
        }
    }
    std::printf("%d\n", cells[SIZE - 1][SIZE - 1]);
}
