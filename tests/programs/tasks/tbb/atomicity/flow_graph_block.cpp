// The same block in two nodes of a flow graph: one takes one message at a time, the other as many as there are.
//
// needs: tbb
// expect: atomicity-violation unlimited node

#include "tbb_tasks.h"
#include <keirin.h>
#include <tbb/flow_graph.h>
#include <tbb/spin_mutex.h>

struct Statistics {
    tbb::spin_mutex lock;
    int messages = 0;

    void add()
    {
        tbb::spin_mutex::scoped_lock guard(lock);
        messages++;
    }
};

int main()
{
    with_workers([] {
        Statistics unlimited_statistics, serial_statistics;
        tbb::flow::graph graph;
        tbb::flow::function_node<int, int> unlimited(graph, tbb::flow::unlimited, [&](int message) {
            KEIRIN_ATOMIC("unlimited node")
            {
                unlimited_statistics.add();
                unlimited_statistics.add();
            }
            return message;
        });
        tbb::flow::function_node<int, int> serial(graph, tbb::flow::serial, [&](int message) {
            KEIRIN_ATOMIC("serial node")
            {
                serial_statistics.add();
                serial_statistics.add();
            }
            return message;
        });
        tbb::flow::make_edge(unlimited, serial);
        for (int i = 0; i < 6; i++)
            unlimited.try_put(i);
        graph.wait_for_all();
    });
}
