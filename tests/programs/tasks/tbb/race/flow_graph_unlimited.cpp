// A node of unlimited concurrency works on several messages at once, and adds to one sum.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/flow_graph.h>

int main()
{
    with_workers([] {
        int sum = 0;
        tbb::flow::graph graph;
        tbb::flow::function_node<int, int> add(graph, tbb::flow::unlimited, [&](int item) {
            sum += item; // (A)
            return item;
        });
        for (int i = 0; i < 6; i++)
            add.try_put(i);
        graph.wait_for_all();
        use(sum);
    });
}
