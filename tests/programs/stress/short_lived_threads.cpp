// A thousand threads, up to four at a time, each of which adds to a sum under a lock and to a word of its own.
//
// prints: 1000 threads, sum 499500, marked 1000

#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static long sum;

int main()
{
    std::vector<char> marks(1000);
    for (int next = 0; next < 1000; next += 4) {
        std::vector<std::thread> alive;
        for (int i = next; i < next + 4; i++)
            alive.emplace_back([i, &mark = marks[(std::size_t)i]] {
                mark = 1;
                std::lock_guard guard(lock);
                sum += i;
            });
        for (auto &thread : alive)
            thread.join();
    }
    int marked = 0;
    for (char mark : marks)
        marked += mark;
    std::printf("1000 threads, sum %ld, marked %d\n", sum, marked);
}
