// A connection is looked for and then taken from the pool, with the lock released in between.
//
// run: --analysis velodrome
// expect: atomicity-violation Pool::borrow

#include <array>
#include <keirin.h>
#include <mutex>
#include <thread>

class Pool {
public:
    int borrow()
    {
        int index = -1;
        KEIRIN_ATOMIC("Pool::borrow")
        {
            index = find();
            if (index >= 0)
                set(index, true);
        }
        return index;
    }
    void give_back(int index) { set(index, false); }

private:
    int find()
    {
        std::lock_guard guard(lock_);
        for (std::size_t i = 0; i < taken_.size(); i++)
            if (!taken_[i])
                return (int)i;
        return -1;
    }
    void set(int index, bool taken)
    {
        std::lock_guard guard(lock_);
        taken_[(std::size_t)index] = taken;
    }

    std::mutex lock_;
    std::array<bool, 4> taken_{};
};

int main()
{
    Pool pool;
    auto use = [&pool] {
        for (int i = 0; i < 5; i++)
            if (int connection = pool.borrow(); connection >= 0)
                pool.give_back(connection);
    };
    std::thread first(use), second(use);
    first.join();
    second.join();
}
