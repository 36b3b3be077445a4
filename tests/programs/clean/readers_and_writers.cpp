// Readers share a lock, writers have it alone: the standard one and that of the system.
//
// prints: 100 100

#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>

static std::shared_mutex standard;
static pthread_rwlock_t native = PTHREAD_RWLOCK_INITIALIZER;
int entries, lines;

int main()
{
    std::thread threads[4];
    for (int i = 0; i < 2; i++)
        threads[i] = std::thread([] {
            for (int round = 0; round < 50; round++) {
                std::unique_lock guard(standard);
                entries++;
                guard.unlock();
                pthread_rwlock_wrlock(&native);
                lines++;
                pthread_rwlock_unlock(&native);
            }
        });
    int seen[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        threads[2 + i] = std::thread([&largest = seen[i]] {
            for (int round = 0; round < 50; round++) {
                std::shared_lock guard(standard);
                if (entries > largest)
                    largest = entries;
                guard.unlock();
                pthread_rwlock_rdlock(&native);
                if (lines > largest)
                    largest = lines;
                pthread_rwlock_unlock(&native);
            }
        });
    for (auto &thread : threads)
        thread.join();
    std::printf("%d %d\n", entries, lines);
}
