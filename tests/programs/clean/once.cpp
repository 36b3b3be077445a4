// Three ways to do something exactly once; whoever comes later sees what was done.
//
// prints: 1 2 3

#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <thread>

static pthread_once_t native = PTHREAD_ONCE_INIT;
static std::once_flag standard;
int by_native, by_standard;

struct Table {
    int size;
    Table() : size(3) {}
};

static const Table &table()
{
    static Table only;
    return only;
}

int main()
{
    int sums[4];
    std::thread threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = std::thread([&sum = sums[i]] {
            pthread_once(&native, [] { by_native = 1; });
            std::call_once(standard, [] { by_standard = 2; });
            sum = by_native + by_standard + table().size;
        });
    for (auto &thread : threads)
        thread.join();
    for (int sum : sums)
        if (sum != 6)
            return 1;
    std::printf("%d %d %d\n", by_native, by_standard, table().size);
}
