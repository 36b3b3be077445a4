// Two hundred threads are alive at the same time and meet at a barrier.
//
// prints: 200

#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

static pthread_barrier_t all_there;
static std::mutex lock;
int arrived;

int main()
{
    constexpr int count = 200;
    pthread_barrier_init(&all_there, nullptr, count);
    std::vector<std::thread> threads;
    std::vector<int> seen(count);
    for (int i = 0; i < count; i++)
        threads.emplace_back([&seen, i] {
            {
                std::lock_guard guard(lock);
                arrived++;
            }
            pthread_barrier_wait(&all_there);
            seen[(std::size_t)i] = arrived;
        });
    int least = count;
    for (int i = 0; i < count; i++) {
        threads[(std::size_t)i].join();
        if (seen[(std::size_t)i] < least)
            least = seen[(std::size_t)i];
    }
    pthread_barrier_destroy(&all_there);
    std::printf("%d\n", least);
}
