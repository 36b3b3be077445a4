// A flow graph: messages go through a node of unlimited concurrency that has no state, are joined in pairs, and are
// added up by a node that takes one at a time. What a node wrote before it sent a message, the receiver may read.
//
// needs: tbb
// prints: 140 8

#include "tbb_tasks.h"
#include <cstdio>
#include <tbb/flow_graph.h>
#include <tuple>

struct Item {
    int number;
    int square;
};

int main()
{
    with_workers([] {
        using Pair = std::tuple<Item *, int>;
        Item items[8] = {};
        int sum = 0, messages = 0;
        tbb::flow::graph graph;
        tbb::flow::function_node<Item *, Item *> square(graph, tbb::flow::unlimited, [](Item *item) {
            item->square = item->number * item->number;
            return item;
        });
        tbb::flow::function_node<int, int> pass(graph, tbb::flow::unlimited, [](int number) { return number; });
        tbb::flow::join_node<Pair, tbb::flow::queueing> pairs(graph);
        tbb::flow::function_node<Pair, int> add(graph, tbb::flow::serial, [&](const Pair &pair) {
            sum += std::get<0>(pair)->square;
            messages++;
            return sum;
        });
        tbb::flow::make_edge(square, tbb::flow::input_port<0>(pairs));
        tbb::flow::make_edge(pass, tbb::flow::input_port<1>(pairs));
        tbb::flow::make_edge(pairs, add);
        for (int i = 0; i < 8; i++) {
            items[i].number = i;
            square.try_put(&items[i]);
            pass.try_put(i);
        }
        graph.wait_for_all();
        std::printf("%d %d\n", sum, messages);
    });
}
