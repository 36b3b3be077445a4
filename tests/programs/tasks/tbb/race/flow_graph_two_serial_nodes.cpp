// Two nodes take one message at a time each, but both get every message, and they share a variable.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/flow_graph.h>

int main()
{
    with_workers([] {
        int last = 0;
        tbb::flow::graph graph;
        tbb::flow::broadcast_node<int> everybody(graph);
        tbb::flow::function_node<int, int> writer(graph, tbb::flow::serial, [&](int item) {
            last = item; // (A)
            return item;
        });
        tbb::flow::function_node<int, int> reader(graph, tbb::flow::serial, [&](int item) {
            use(last); // (B)
            return item;
        });
        tbb::flow::make_edge(everybody, writer);
        tbb::flow::make_edge(everybody, reader);
        for (int i = 0; i < 4; i++)
            everybody.try_put(i);
        graph.wait_for_all();
        use(last);
    });
}
