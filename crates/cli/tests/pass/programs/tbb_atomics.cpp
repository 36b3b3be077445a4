// Atomic operations of oneTBB by which tasks are handed out (with LOOP), and those that a program does or asks a container for.
#include <atomic>
#include <tbb/concurrent_vector.h>
#include <tbb/parallel_reduce.h>

std::atomic<int> own;
tbb::concurrent_vector<int> container;

int asked() { return own.load() + static_cast<int>(container.size()); }

#ifdef LOOP
int sum(const int *numbers)
{
    return tbb::parallel_reduce(
        tbb::blocked_range<int>(0, 64, 8), 0,
        [=](const tbb::blocked_range<int> &range, int part) {
            for (int i = range.begin(); i < range.end(); i++)
                part += numbers[i];
            return part;
        },
        [](int left, int right) { return left + right; });
}
#endif
