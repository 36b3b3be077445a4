// Exceptions leave critical sections and give the locks back; one is carried to another thread.
//
// prints: 100 caught, from afar

#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex lock;
int caught;

static void fail(int depth)
{
    std::unique_lock guard(lock, std::defer_lock);
    if (depth == 0)
        guard.lock();
    else
        fail(depth - 1);
    caught++;
    throw std::runtime_error("on purpose");
}

int main()
{
    std::thread threads[2];
    for (auto &thread : threads)
        thread = std::thread([] {
            for (int i = 0; i < 50; i++) {
                try {
                    fail(i % 5);
                } catch (const std::runtime_error &) {
                }
            }
        });
    for (auto &thread : threads)
        thread.join();

    std::exception_ptr carried;
    std::thread thrower([&] {
        try {
            throw std::logic_error("from afar");
        } catch (...) {
            carried = std::current_exception();
        }
    });
    thrower.join();
    try {
        std::rethrow_exception(carried);
    } catch (const std::logic_error &error) {
        std::printf("%d caught, %s\n", caught, error.what());
    }
}
