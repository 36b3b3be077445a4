// Spin locks: one of an atomic flag, and that of the system.
//
// prints: 400 400

#include <atomic>
#include <cstdio>
#include <pthread.h>
#include <thread>

class SpinLock {
public:
    void lock()
    {
        while (taken_.test_and_set(std::memory_order_acquire))
            std::this_thread::yield();
    }
    void unlock() { taken_.clear(std::memory_order_release); }

private:
    std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

static SpinLock ours;
static pthread_spinlock_t theirs;
int under_ours, under_theirs;

int main()
{
    pthread_spin_init(&theirs, PTHREAD_PROCESS_PRIVATE);
    std::thread threads[4];
    for (auto &thread : threads)
        thread = std::thread([] {
            for (int i = 0; i < 100; i++) {
                ours.lock();
                under_ours++;
                ours.unlock();
                pthread_spin_lock(&theirs);
                under_theirs++;
                pthread_spin_unlock(&theirs);
            }
        });
    for (auto &thread : threads)
        thread.join();
    pthread_spin_destroy(&theirs);
    std::printf("%d %d\n", under_ours, under_theirs);
}
