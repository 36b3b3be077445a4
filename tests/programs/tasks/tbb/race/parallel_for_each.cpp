// Items of a list are worked on in parallel, and all of them count in the same variable.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <list>
#include <tbb/parallel_for_each.h>

int main()
{
    with_workers([] {
        std::list<int> items{3, 1, 4, 1, 5, 9, 2, 6};
        int seen = 0;
        tbb::parallel_for_each(items.begin(), items.end(), [&](int &item) {
            item *= 2;
            seen++; // (A)
        });
        use(seen);
    });
}
