// A reference count with the orders it needs: a release by everybody, and an acquire fence by who drops the last
// reference. Detectors that do not know fences give a false alarm here.
//
// prints: 4 4 4

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Buffer {
    std::atomic<int> references{1};
    int pages[4] = {};

    ~Buffer() { used = pages[0] + pages[1] + pages[2] + pages[3]; }

    void acquire() { references.fetch_add(1, std::memory_order_relaxed); }
    void release()
    {
        if (references.fetch_sub(1, std::memory_order_release) == 1) {
            std::atomic_thread_fence(std::memory_order_acquire);
            delete this;
        }
    }
    static inline int used;
};

int main()
{
    for (int round = 0; round < 3; round++) {
        Buffer *buffer = new Buffer;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++) {
            buffer->acquire();
            threads.emplace_back([buffer, i] {
                buffer->pages[i] = 1;
                buffer->release();
            });
        }
        buffer->release();
        for (auto &thread : threads)
            thread.join();
        std::printf("%d%s", Buffer::used, round < 2 ? " " : "\n");
    }
}
