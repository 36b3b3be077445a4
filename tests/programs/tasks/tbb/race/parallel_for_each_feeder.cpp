// A node feeds its children to the loop and marks itself as done after that. The children, which may run already,
// look at the mark.
//
// needs: tbb
// expect: data-race (A) (B)

#include "tbb_tasks.h"
#include <tbb/parallel_for_each.h>
#include <vector>

struct Node {
    Node *parent = nullptr;
    std::vector<Node> children;
    bool done = false;
};

int main()
{
    with_workers([] {
        Node root;
        root.children.resize(3);
        for (Node &child : root.children)
            child.parent = &root;
        std::vector<Node *> first{&root};
        tbb::parallel_for_each(first, [](Node *node, tbb::feeder<Node *> &feeder) {
            if (node->parent)
                use(node->parent->done); // (A)
            for (Node &child : node->children)
                feeder.add(&child);
            node->done = true; // (B)
        });
        use(root.done);
    });
}
