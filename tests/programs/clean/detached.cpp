// A detached thread tells by a condition that it is done; nobody joins it.
//
// prints: 55

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
bool done;
int sum;

int main()
{
    std::thread([] {
        int result = 0;
        for (int i = 1; i <= 10; i++)
            result += i;
        std::lock_guard guard(lock);
        sum = result;
        done = true;
        changed.notify_one();
    }).detach();
    std::unique_lock guard(lock);
    changed.wait(guard, [] { return done; });
    std::printf("%d\n", sum);
}
