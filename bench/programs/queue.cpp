// Producers and consumers with a bounded queue, a mutex and two conditions; the items are batches of numbers.

#include "kernel.h"
#include <condition_variable>
#include <deque>
#include <mutex>

using Batch = std::vector<std::uint32_t>;

class Queue {
public:
    void put(Batch batch)
    {
        std::unique_lock guard(lock_);
        not_full_.wait(guard, [this] { return batches_.size() < 64; });
        batches_.push_back(std::move(batch));
        not_empty_.notify_one();
    }
    Batch take()
    {
        std::unique_lock guard(lock_);
        not_empty_.wait(guard, [this] { return !batches_.empty(); });
        Batch batch = std::move(batches_.front());
        batches_.pop_front();
        not_full_.notify_one();
        return batch;
    }

private:
    std::mutex lock_;
    std::condition_variable not_empty_, not_full_;
    std::deque<Batch> batches_;
};

int main(int argc, char **argv)
{
    Kernel kernel(argc, argv);
    const std::size_t batches = kernel.times(1200e3);
    Queue queue;
    std::uint64_t sum = 0;
    std::thread consumer([&] {
        for (std::size_t i = 0; i < batches; i++)
            for (std::uint32_t item : queue.take())
                sum += item * 3u;
    });
    const unsigned producers = kernel.threads > 1 ? kernel.threads - 1 : 1;
    std::vector<std::thread> all;
    for (unsigned producer = 0; producer < producers; producer++)
        all.emplace_back([&, producer] {
            for (std::size_t i = producer; i < batches; i += producers) {
                Batch batch(200);
                for (std::size_t item = 0; item < batch.size(); item++)
                    batch[item] = static_cast<std::uint32_t>(i * item);
                queue.put(std::move(batch));
            }
        });
    for (auto &producer : all)
        producer.join();
    consumer.join();
    print_result(sum);
}
