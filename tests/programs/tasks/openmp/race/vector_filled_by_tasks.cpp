// Tasks append to one vector. There is room for all, but its end is moved by all of them.
//
// needs: openmp
// expect: data-race (A) (A)

#include <vector>

std::vector<int> squares;

int main()
{
    squares.reserve(8);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 2; i++) {
#pragma omp task
            squares.push_back(i * i); // (A)
        }
    }
}
