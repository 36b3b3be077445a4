// Each entry of a table has its mutex, sixteen bytes from the next one, as in a container of the library. They exclude, but order nothing:
// what one task writes before it locks, and the other one after it has unlocked, is written by both.
//
// needs: tbb
// expect: data-race (A) (B)
// expect: data-race (C) (D)

#include "tbb_tasks.h"
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_group.h>

template <typename Mutex> struct Entry {
    Mutex mutex;
    long value = 0;
};

int main()
{
    with_workers([] {
        Entry<tbb::spin_mutex> two[2];
        Entry<tbb::spin_rw_mutex> three[3];
        static_assert(sizeof(two) == 32 && sizeof(three) == 48, "");
        int first = 0, second = 0;
        tbb::task_group group;
        group.run([&] {
            first = 1; // (A)
            second = 1; // (C)
            for (auto &entry : two) {
                tbb::spin_mutex::scoped_lock guard(entry.mutex);
                entry.value++;
            }
            for (auto &entry : three) {
                tbb::spin_rw_mutex::scoped_lock guard(entry.mutex);
                entry.value++;
            }
        });
        group.run([&] {
            for (auto &entry : two) {
                tbb::spin_mutex::scoped_lock guard(entry.mutex);
                entry.value++;
            }
            first = 2; // (B)
            for (auto &entry : three) {
                tbb::spin_rw_mutex::scoped_lock guard(entry.mutex);
                entry.value++;
            }
            second = 2; // (D)
        });
        group.wait();
        use(first + second);
    });
}
