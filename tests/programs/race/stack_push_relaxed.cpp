// A lock-free stack whose push publishes the node in relaxed order: the thread that pops it may see it half made.
//
// expect: data-race (A) (B)
// expect: data-race (C) (D)
// prints: 7

#include <atomic>
#include <cstdio>
#include <thread>

struct Node {
    int value;
    Node *next;
};

static std::atomic<Node *> top{nullptr};

static void push(int value)
{
    Node *node = new Node;
    node->value = value; // (A)
    node->next = top.load(std::memory_order_relaxed); // (C)
    while (!top.compare_exchange_weak(node->next, node, std::memory_order_relaxed)) {
    }
}

static int pop()
{
    Node *node;
    do {
        while (!(node = top.load(std::memory_order_acquire)))
            std::this_thread::yield();
    } while (!top.compare_exchange_weak(node, node->next, std::memory_order_acquire)); // (D)
    int value = node->value; // (B)
    delete node;
    return value;
}

int main()
{
    std::thread pusher(push, 7);
    std::printf("%d\n", pop());
    pusher.join();
}
