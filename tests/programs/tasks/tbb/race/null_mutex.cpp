// A null mutex looks like a lock and is none.
//
// needs: tbb
// expect: data-race (A) (A)

#include "tbb_tasks.h"
#include <tbb/null_mutex.h>
#include <tbb/parallel_invoke.h>

template <typename Mutex> class Counter {
public:
    void increment()
    {
        typename Mutex::scoped_lock guard(mutex_);
        count_++; // (A)
    }
    int count() const { return count_; }

private:
    Mutex mutex_;
    int count_ = 0;
};

int main()
{
    with_workers([] {
        Counter<tbb::null_mutex> counter;
        tbb::parallel_invoke([&] { counter.increment(); }, [&] { counter.increment(); });
        use(counter.count());
    });
}
