// A reference count that is decremented in relaxed order: who drops the last reference does not see what the others
// did with the object before they dropped theirs.
//
// expect: data-race (A) (B)

#include "schedule.h"
#include <atomic>
#include <thread>

long bytes_written;

struct Buffer {
    std::atomic<int> references{2};
    long used = 0;

    ~Buffer() { bytes_written += used; } // (B)

    void release()
    {
        if (references.fetch_sub(1, std::memory_order_relaxed) == 1)
            delete this;
    }
};

int main()
{
    Buffer *buffer = new Buffer;
    std::thread writer([buffer] {
        buffer->used += 1; // (A)
        buffer->release();
        moment_reached(1);
    });
    std::thread owner([buffer] {
        await_moment(1);
        buffer->release();
    });
    writer.join();
    owner.join();
}
