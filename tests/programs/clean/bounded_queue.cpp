// Producers and consumers with a mutex and two condition variables.
//
// prints: 19900

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

class Queue {
public:
    void put(int item)
    {
        std::unique_lock guard(lock_);
        not_full_.wait(guard, [this] { return items_.size() < 4; });
        items_.push_back(item);
        not_empty_.notify_one();
    }
    int take()
    {
        std::unique_lock guard(lock_);
        not_empty_.wait(guard, [this] { return !items_.empty(); });
        int item = items_.front();
        items_.pop_front();
        not_full_.notify_one();
        return item;
    }

private:
    std::mutex lock_;
    std::condition_variable not_empty_, not_full_;
    std::deque<int> items_;
};

int main()
{
    Queue queue;
    int sums[2] = {0, 0};
    std::thread producers[2], consumers[2];
    for (int i = 0; i < 2; i++) {
        producers[i] = std::thread([&queue, i] {
            for (int item = i; item < 200; item += 2)
                queue.put(item);
        });
        consumers[i] = std::thread([&queue, &sum = sums[i]] {
            for (int taken = 0; taken < 100; taken++)
                sum += queue.take();
        });
    }
    for (int i = 0; i < 2; i++) {
        producers[i].join();
        consumers[i].join();
    }
    std::printf("%d\n", sums[0] + sums[1]);
}
