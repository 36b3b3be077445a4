// A sorted list in which every node has its lock; a traversal takes the next one before it lets go of the last.
//
// prints: 200 elements

#include <cstdio>
#include <mutex>
#include <thread>

struct Node {
    int value;
    Node *next;
    std::mutex lock;

    Node(int value, Node *next) : value(value), next(next) {}
};

class List {
public:
    ~List()
    {
        for (Node *node = head_.next; node;) {
            Node *next = node->next;
            delete node;
            node = next;
        }
    }
    void insert(int value)
    {
        Node *previous = &head_;
        previous->lock.lock();
        while (Node *next = previous->next) {
            next->lock.lock();
            if (next->value >= value) {
                next->lock.unlock();
                break;
            }
            previous->lock.unlock();
            previous = next;
        }
        previous->next = new Node(value, previous->next);
        previous->lock.unlock();
    }
    int size()
    {
        int size = 0;
        Node *node = &head_;
        node->lock.lock();
        while (Node *next = node->next) {
            next->lock.lock();
            node->lock.unlock();
            node = next;
            size++;
        }
        node->lock.unlock();
        return size;
    }

private:
    Node head_{0, nullptr};
};

int main()
{
    List list;
    std::thread even([&] {
        for (int i = 0; i < 200; i += 2)
            list.insert(i);
    });
    std::thread odd([&] {
        for (int i = 199; i > 0; i -= 2)
            list.insert(i);
    });
    list.size();
    even.join();
    odd.join();
    std::printf("%d elements\n", list.size());
}
