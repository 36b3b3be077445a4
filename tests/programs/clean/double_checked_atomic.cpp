// Double-checked locking as it should be: the pointer is atomic, published by release and read by acquire.
//
// prints: 8080 8080

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

struct Settings {
    int port = 8080;
};

static std::mutex creation;
static std::atomic<Settings *> instance{nullptr};

static Settings *settings()
{
    Settings *found = instance.load(std::memory_order_acquire);
    if (!found) {
        std::lock_guard guard(creation);
        found = instance.load(std::memory_order_relaxed);
        if (!found) {
            found = new Settings;
            instance.store(found, std::memory_order_release);
        }
    }
    return found;
}

int main()
{
    int ports[2];
    std::thread first([&] { ports[0] = settings()->port; });
    std::thread second([&] { ports[1] = settings()->port; });
    first.join();
    second.join();
    std::printf("%d %d\n", ports[0], ports[1]);
    delete settings();
}
