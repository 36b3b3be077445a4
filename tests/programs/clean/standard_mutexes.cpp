// The mutexes of the C++ library and the ways to hold them. Detectors that do not know the function behind
// `try_lock_for` (pthread_mutex_clocklock) give a false alarm here.
//
// prints: 600

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex plain, other;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
int under_plain, under_recursive, under_timed;

static void work()
{
    using namespace std::chrono_literals;
    for (int i = 0; i < 50; i++) {
        {
            std::scoped_lock both(plain, other);
            under_plain++;
        }
        {
            std::lock_guard outer(recursive);
            std::lock_guard inner(recursive);
            under_recursive++;
        }
        std::unique_lock guard(timed, std::defer_lock);
        while (!guard.try_lock_for(1s)) {
        }
        under_timed++;
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work);
    for (auto &thread : threads)
        thread.join();
    std::printf("%d\n", under_plain + under_recursive + under_timed);
}
