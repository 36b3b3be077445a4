// Sum and number of samples are kept together; the lock around both updates was removed, each has its own now.
//
// run: --analysis velodrome
// expect: atomicity-violation Statistics::add

#include <keirin.h>
#include <mutex>
#include <thread>

class Statistics {
public:
    void add(double sample)
    {
        KEIRIN_ATOMIC("Statistics::add")
        {
            {
                std::lock_guard guard(lock_);
                sum_ += sample;
            }
            {
                std::lock_guard guard(lock_);
                number_++;
            }
        }
    }
    double mean()
    {
        std::lock_guard guard(lock_);
        return number_ ? sum_ / number_ : 0;
    }

private:
    std::mutex lock_;
    double sum_ = 0;
    int number_ = 0;
};

int main()
{
    Statistics statistics;
    std::thread sampler([&] {
        for (int i = 0; i < 5; i++)
            statistics.add(i);
    });
    double mean = 0;
    std::thread watcher([&] {
        for (int i = 0; i < 5; i++)
            mean += statistics.mean();
    });
    sampler.join();
    watcher.join();
    return mean > 100;
}
