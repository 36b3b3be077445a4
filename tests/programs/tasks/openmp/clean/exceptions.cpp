// Exceptions that do not leave their task.
//
// needs: openmp
// prints: 5

#include <cstdio>
#include <stdexcept>
#include <string>

int caught;

static int checked(int number)
{
    if (number % 2 != 0)
        throw std::runtime_error("odd: " + std::to_string(number));
    return number;
}

int main()
{
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task firstprivate(i)
            {
                try {
                    checked(i);
                } catch (const std::runtime_error &error) {
#pragma omp critical
                    caught += error.what()[0] == 'o';
                }
            }
        }
    }
    std::printf("%d\n", caught);
}
