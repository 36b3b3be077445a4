// A pointer that is read in consume order: all compilers take it for acquire.
//
// prints: 9

#include <atomic>
#include <cstdio>
#include <thread>

struct Route {
    int hops;
};

static std::atomic<Route *> current{nullptr};

int main()
{
    std::thread finder([] { current.store(new Route{9}, std::memory_order_release); });
    Route *route;
    while (!(route = current.load(std::memory_order_consume)))
        std::this_thread::yield();
    std::printf("%d\n", route->hops);
    finder.join();
    delete route;
}
