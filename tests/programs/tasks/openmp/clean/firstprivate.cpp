// Each task has its own copies of what the parent goes on changing, small and large ones, with constructors and without.
//
// needs: openmp
// prints: 4950

#include <array>
#include <cstdio>
#include <string>

struct Record {
    std::array<int, 40> numbers;
    std::string name;
};

int results[100];

int main()
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
        Record record{};
        for (int i = 0; i < 100; i++) {
            record.numbers[i % 40] = i;
            record.name = "a name that is too long to be kept in place " + std::to_string(i);
#pragma omp task firstprivate(record, i)
            {
                record.numbers[39] += static_cast<int>(record.name.size());
                record.name.clear();
                results[i] = record.numbers[i % 40] - (i % 40 == 39 ? 44 + (i > 9 ? 2 : 1) : 0);
            }
        }
#pragma omp taskwait
        for (int result : results)
            sum += result;
    }
    std::printf("%d\n", sum);
}
