// Tasks may append to a concurrent vector together. Its elements are variables like others.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/concurrent_vector.h>
#include <tbb/task_group.h>

int main()
{
    with_workers([] {
        tbb::concurrent_vector<int> numbers;
        numbers.push_back(0);
        auto append = [&] {
            numbers.push_back(7);
            numbers[0]++; // (A)
        };
        tbb::task_group group;
        group.run(append);
        group.run(append);
        group.wait();
        use(numbers.size());
    });
}
