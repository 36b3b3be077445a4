// A graph of steps that wait for each other: two that run side by side after the first, and one after both.
//
// needs: tbb
// prints: 33

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/flow_graph.h>

int main()
{
    with_workers([] {
        using Step = tbb::flow::continue_node<tbb::flow::continue_msg>;
        using Message = tbb::flow::continue_msg;
        int start = 0, left = 0, right = 0, result = 0;
        tbb::flow::graph graph;
        tbb::flow::broadcast_node<Message> begin(graph);
        Step first(graph, [&](const Message &) { start = 10; });
        Step second(graph, [&](const Message &) { left = start + 1; });
        Step third(graph, [&](const Message &) { right = start + 2; });
        Step last(graph, [&](const Message &) { result += left + right; });
        tbb::flow::make_edge(begin, first);
        tbb::flow::make_edge(first, second);
        tbb::flow::make_edge(first, third);
        tbb::flow::make_edge(second, last);
        tbb::flow::make_edge(third, last);
        begin.try_put(Message());
        graph.wait_for_all();
        result += start;
        std::printf("%d\n", result);
    });
}
