// A tree is walked by a loop that is fed with the children of each node. A node writes only what is its own, before
// it feeds the children that read it.
//
// needs: tbb
// prints: 3

#include "tbb_tasks.h"
#include <cstdio>
#include <list>
#include <tbb/parallel_for_each.h>

struct Node {
    Node *parent = nullptr;
    std::list<Node> children;
    int depth = 0;
};

static void grow(Node &node, int levels)
{
    if (levels == 0)
        return;
    for (int i = 0; i < 2; i++) {
        node.children.emplace_back();
        node.children.back().parent = &node;
        grow(node.children.back(), levels - 1);
    }
}

int main()
{
    with_workers([] {
        Node root;
        grow(root, 3);
        std::list<Node *> first{&root};
        tbb::parallel_for_each(first.begin(), first.end(), [](Node *node, tbb::feeder<Node *> &feeder) {
            node->depth = node->parent ? node->parent->depth + 1 : 0;
            for (Node &child : node->children)
                feeder.add(&child);
        });
        std::printf("%d\n", root.children.back().children.back().children.back().depth);
    });
}
