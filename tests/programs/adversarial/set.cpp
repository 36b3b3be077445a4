// `Set::add` without the lock around look-up and insertion.
//
// run: --analysis velodrome
// expect: atomicity-violation Set::add

#include <algorithm>
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
            if (!contains(element))
                append(element);
        }
    }

private:
    bool contains(int element)
    {
        std::lock_guard guard(lock_);
        return std::find(elements_.begin(), elements_.end(), element) != elements_.end();
    }
    void append(int element)
    {
        std::lock_guard guard(lock_);
        elements_.push_back(element);
    }

    std::mutex lock_;
    std::vector<int> elements_;
};

int main()
{
    Set set;
    auto fill = [&set] {
        for (int i = 0; i < 8; i++)
            set.add(i);
    };
    std::thread first(fill), second(fill);
    first.join();
    second.join();
}
