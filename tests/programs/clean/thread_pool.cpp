// A pool of workers that run packaged tasks; results come back by futures.
//
// prints: 285

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
    explicit Pool(int workers)
    {
        for (int i = 0; i < workers; i++)
            workers_.emplace_back([this] { run(); });
    }
    ~Pool()
    {
        {
            std::lock_guard guard(lock_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (auto &worker : workers_)
            worker.join();
    }
    template <typename Work> std::future<int> submit(Work work)
    {
        std::packaged_task<int()> task(work);
        auto result = task.get_future();
        {
            std::lock_guard guard(lock_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_one();
        return result;
    }

private:
    void run()
    {
        for (;;) {
            std::unique_lock guard(lock_);
            changed_.wait(guard, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty())
                return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            guard.unlock();
            task();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::packaged_task<int()>> tasks_;
    bool stopping_ = false;
    std::vector<std::thread> workers_;
};

int main()
{
    Pool pool(3);
    std::vector<std::future<int>> results;
    for (int i = 0; i < 10; i++)
        results.push_back(pool.submit([i] { return i * i; }));
    int sum = 0;
    for (auto &result : results)
        sum += result.get();
    std::printf("%d\n", sum);
}
