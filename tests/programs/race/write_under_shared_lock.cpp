// Two readers hold the lock together, and both count their visits in the data that the lock protects.
//
// cc: -std=c++17
// expect: data-race (A) (A)

#include <shared_mutex>
#include <thread>

struct Table {
    std::shared_mutex lock;
    int entries = 12;
    int visits = 0;

    int size()
    {
        std::shared_lock guard(lock);
        visits++; // (A)
        return entries;
    }
};

int main()
{
    Table table;
    std::thread first([&] { table.size(); });
    std::thread second([&] { table.size(); });
    first.join();
    second.join();
}
