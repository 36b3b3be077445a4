// Readers hold a lock together, and both write: once with the spinning lock, once with the queuing one.
//
// needs: tbb
// expect: data-race (A) (A)
// expect: data-race (B) (B)

#include "tbb_tasks.h"
#include <tbb/parallel_invoke.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/spin_rw_mutex.h>

int main()
{
    with_workers([] {
        tbb::spin_rw_mutex spinning;
        tbb::queuing_rw_mutex queuing;
        int visits = 0, hits = 0;
        auto look_up = [&] {
            {
                tbb::spin_rw_mutex::scoped_lock reader(spinning, false);
                visits++; // (A)
            }
            tbb::queuing_rw_mutex::scoped_lock reader(queuing, false);
            hits++; // (B)
        };
        tbb::parallel_invoke(look_up, look_up);
        use(visits + hits);
    });
}
