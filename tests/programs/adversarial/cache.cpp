// A cache that is asked and filled in two critical sections, since the lock around both was removed.
//
// run: --analysis velodrome
// expect: atomicity-violation Cache::get

#include <keirin.h>
#include <map>
#include <mutex>
#include <thread>

class Cache {
public:
    int get(int key)
    {
        int value = 0;
        KEIRIN_ATOMIC("Cache::get")
        {
            if (!find(key, value)) {
                value = key * key;
                std::lock_guard guard(lock_);
                values_[key] = value;
            }
        }
        return value;
    }

private:
    bool find(int key, int &value)
    {
        std::lock_guard guard(lock_);
        auto found = values_.find(key);
        if (found == values_.end())
            return false;
        value = found->second;
        return true;
    }

    std::mutex lock_;
    std::map<int, int> values_;
};

int main()
{
    Cache cache;
    int sums[2] = {0, 0};
    auto work = [&cache](int &sum) {
        for (int key = 0; key < 5; key++)
            sum += cache.get(key);
    };
    std::thread first(work, std::ref(sums[0])), second(work, std::ref(sums[1]));
    first.join();
    second.join();
    return sums[0] != sums[1];
}
