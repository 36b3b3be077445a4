// A queue for one producer and one consumer. The producer publishes its position in relaxed order, so that the slot
// itself is not handed over.
//
// expect: data-race (A) (B)
// prints: 5

#include <atomic>
#include <cstdio>
#include <thread>

class Ring {
public:
    void put(int value)
    {
        unsigned tail = tail_.load(std::memory_order_relaxed);
        slots_[tail % 8] = value; // (A)
        tail_.store(tail + 1, std::memory_order_relaxed);
    }
    int take()
    {
        unsigned head = head_.load(std::memory_order_relaxed);
        while (tail_.load(std::memory_order_acquire) == head)
            std::this_thread::yield();
        int value = slots_[head % 8]; // (B)
        head_.store(head + 1, std::memory_order_release);
        return value;
    }

private:
    int slots_[8];
    std::atomic<unsigned> head_{0};
    std::atomic<unsigned> tail_{0};
};

static Ring ring;

int main()
{
    std::thread producer([] { ring.put(5); });
    std::printf("%d\n", ring.take());
    producer.join();
}
