// A merge sort of halves: the two calls work on different halves, and the merge comes after both.
//
// needs: tbb
// prints: 0 63

#include "tbb_tasks.h"
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <tbb/parallel_invoke.h>
#include <vector>

static void sort(std::vector<int>::iterator begin, std::vector<int>::iterator end)
{
    if (end - begin < 2)
        return;
    auto middle = begin + (end - begin) / 2;
    tbb::parallel_invoke([=] { sort(begin, middle); }, [=] { sort(middle, end); });
    std::vector<int> merged;
    std::merge(begin, middle, middle, end, std::back_inserter(merged));
    std::copy(merged.begin(), merged.end(), begin);
}

int main()
{
    with_workers([] {
        std::vector<int> numbers(64);
        for (int i = 0; i < 64; i++)
            numbers[static_cast<std::size_t>(i)] = i * 37 % 64;
        sort(numbers.begin(), numbers.end());
        std::printf("%d %d\n", numbers.front(), numbers.back());
    });
}
