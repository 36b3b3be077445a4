// A queue without locks for one producer and one consumer, with the orders it needs.
//
// prints: 499500

#include <atomic>
#include <cstdio>
#include <thread>

class Ring {
public:
    bool put(int value)
    {
        unsigned tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == 8)
            return false;
        slots_[tail % 8] = value;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    bool take(int &value)
    {
        unsigned head = head_.load(std::memory_order_relaxed);
        if (tail_.load(std::memory_order_acquire) == head)
            return false;
        value = slots_[head % 8];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

private:
    int slots_[8];
    std::atomic<unsigned> head_{0};
    std::atomic<unsigned> tail_{0};
};

static Ring ring;

int main()
{
    std::thread producer([] {
        for (int i = 0; i < 1000; i++)
            while (!ring.put(i))
                std::this_thread::yield();
    });
    int sum = 0;
    for (int taken = 0; taken < 1000; taken++) {
        int value;
        while (!ring.take(value))
            std::this_thread::yield();
        sum += value;
    }
    producer.join();
    std::printf("%d\n", sum);
}
