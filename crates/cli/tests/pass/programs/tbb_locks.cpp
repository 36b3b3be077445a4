// link: -ltbb
// The mutexes of oneTBB, and a body that is inlined into the library's loop.
#include "common.h"
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

int a, b, c, cells[4];
tbb::spin_mutex spin;
tbb::mutex plain;
tbb::queuing_mutex queue;
tbb::spin_rw_mutex spin_both;
tbb::rw_mutex both;
const name names[] = {NAME(a),     NAME(b),         NAME(c),    NAME(cells), NAME(spin), NAME(plain),
                      NAME(queue), NAME(spin_both), NAME(both), {}};

UNDER_TEST void of_spin_mutex() { if (a) { tbb::spin_mutex::scoped_lock held(spin); b = 1; } }
UNDER_TEST void of_mutex() { if (a) { plain.lock(); b = 1; plain.unlock(); c = 1; } }
UNDER_TEST void of_queue() { if (a) { tbb::queuing_mutex::scoped_lock held(queue); b = 1; } }
UNDER_TEST void of_queue_released() { if (a) { tbb::queuing_mutex::scoped_lock held(queue); b = 1; held.release(); c = 1; } }
UNDER_TEST void of_reader() { if (a) { tbb::spin_rw_mutex::scoped_lock held(spin_both, false); c = b; held.release(); b = 1; } }
UNDER_TEST void of_writer() { if (a) { tbb::rw_mutex::scoped_lock held(both); b = 1; } }
UNDER_TEST void body() { tbb::parallel_for(0, 1, [](int i) { if (cells[i] == c) cells[i + 1] = 1; }, tbb::simple_partitioner()); }

int main() {
  SHOW(of_spin_mutex());
  SHOW(of_mutex());
  SHOW(of_queue());
  SHOW(of_queue_released());
  SHOW(of_reader());
  SHOW(of_writer());
}
