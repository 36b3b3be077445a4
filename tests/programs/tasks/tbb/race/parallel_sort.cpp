// The comparison counts how often it is called.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/parallel_sort.h>
#include <vector>

int main()
{
    with_workers([] {
        std::vector<unsigned> numbers(2000);
        unsigned next = 1;
        for (unsigned &number : numbers)
            number = next = next * 1103515245 + 12345;
        unsigned comparisons = 0;
        tbb::parallel_sort(numbers.begin(), numbers.end(), [&](unsigned a, unsigned b) {
            comparisons++; // (A)
            return a < b;
        });
        use(comparisons);
    });
}
