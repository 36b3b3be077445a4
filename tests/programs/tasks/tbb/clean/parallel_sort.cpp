// A parallel sort, by the usual order and by one of our own.
//
// needs: tbb
// prints: 0 2999 2999 0

#include "tbb_tasks.h"
#include <cstdio>
#include <functional>
#include <tbb/parallel_sort.h>
#include <vector>

int main()
{
    with_workers([] {
        std::vector<int> numbers(3000);
        for (int i = 0; i < 3000; i++)
            numbers[static_cast<std::size_t>(i)] = i * 1021 % 3000;
        tbb::parallel_sort(numbers.begin(), numbers.end());
        std::printf("%d %d ", numbers.front(), numbers.back());
        tbb::parallel_sort(numbers.begin(), numbers.end(), std::greater<int>());
        std::printf("%d %d\n", numbers.front(), numbers.back());
    });
}
