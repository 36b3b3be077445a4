// `Set::add` repaired: the lock is held for the whole block, and every run is serializable.
//
// run: --analysis fasttrack,velodrome
// prints: 50

#include <algorithm>
#include <cstdio>
#include <keirin.h>
#include <mutex>
#include <thread>
#include <vector>

class Set {
public:
    void add(int element)
    {
        KEIRIN_ATOMIC("Set::add")
        {
            std::lock_guard guard(lock_);
            if (std::find(elements_.begin(), elements_.end(), element) == elements_.end())
                elements_.push_back(element);
        }
    }
    std::size_t size() const { return elements_.size(); }

private:
    std::mutex lock_;
    std::vector<int> elements_;
};

int main()
{
    Set set;
    std::thread threads[3];
    for (auto &thread : threads)
        thread = std::thread([&] {
            for (int i = 0; i < 50; i++)
                set.add(i);
        });
    for (auto &thread : threads)
        thread.join();
    std::printf("%zu\n", set.size());
}
