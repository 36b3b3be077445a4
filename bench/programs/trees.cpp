// Binary search trees that threads build, walk and give back, node by node: allocation and pointers.

#include "kernel.h"

struct Node {
    std::uint32_t key;
    std::uint32_t count;
    Node *left = nullptr, *right = nullptr;

    explicit Node(std::uint32_t key) : key(key), count(1) {}
};

static void insert(Node *&root, std::uint32_t key)
{
    Node **place = &root;
    while (*place) {
        if ((*place)->key == key) {
            (*place)->count++;
            return;
        }
        place = key < (*place)->key ? &(*place)->left : &(*place)->right;
    }
    *place = new Node(key);
}

static std::uint64_t take_apart(Node *node)
{
    if (!node)
        return 0;
    const std::uint64_t sum = take_apart(node->left) * 3 + node->count * node->key + take_apart(node->right);
    delete node;
    return sum;
}

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t rounds = kernel.times(180);
    std::vector<std::uint64_t> sums(kernel.threads);
    kernel.run([&](unsigned thread) {
        Random random(thread + 1);
        std::uint64_t sum = 0;
        for (std::size_t round = thread; round < rounds; round += kernel.threads) {
            Node *root = nullptr;
            for (int i = 0; i < 20000; i++)
                insert(root, static_cast<std::uint32_t>(random.next() % 100000));
            sum += take_apart(root);
        }
        sums[thread] = sum;
    });
    std::uint64_t checksum = 0;
    for (std::uint64_t sum : sums)
        checksum = checksum * 31 + sum;
    print_result(checksum);
}
