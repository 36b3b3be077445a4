// A lock-free stack: push publishes by release, the owner takes everything at once by acquire. Several pushers continue
// each other's release sequence.
//
// prints: 400 nodes

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
    Node *node = new Node{value, top.load(std::memory_order_relaxed)};
    while (!top.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

static int take_all()
{
    int count = 0;
    for (Node *node = top.exchange(nullptr, std::memory_order_acquire); node; count++) {
        Node *next = node->next;
        delete node;
        node = next;
    }
    return count;
}

int main()
{
    std::thread pushers[4];
    for (auto &pusher : pushers)
        pusher = std::thread([] {
            for (int i = 0; i < 100; i++)
                push(i);
        });
    int count = 0;
    while (count < 400)
        count += take_all();
    for (auto &pusher : pushers)
        pusher.join();
    std::printf("%d nodes\n", count);
}
