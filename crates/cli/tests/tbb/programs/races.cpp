// Each case has a data race, on something that others do rightly.
#include "common.h"

static int shared;
static long sums[64];

CASE(siblings) {
  tbb::task_group group;
  group.run([] { shared++; });
  group.run([] { shared++; });
  group.wait();
}

// That the first is over when the second is spawned is chance.
CASE(one_after_the_other_by_chance) {
  tbb::task_group group;
  group.run([] { shared++; });
  sleep_a_little();
  group.run([] { shared++; });
  sleep_a_little();
  group.wait();
}

CASE(before_the_wait) {
  tbb::task_group group;
  group.run([] { shared++; });
  shared++;
  group.wait();
}

CASE(left_behind) {
  tbb::task_group outer;
  tbb::parallel_for(0, 8, [&](int i) { outer.run([=] { sums[i] = work(100); }); });
  long sum = 0;
  for (long value : sums) sum += value;
  shared = int(sum);
  outer.wait();
}

CASE(the_other_group) {
  tbb::task_group one, two;
  one.run([] { work(100); });
  two.run([] { shared++; });
  one.wait();
  shared++;
  two.wait();
}

// What the inner group waits for is not all that was spawned meanwhile.
CASE(spawned_outwards) {
  tbb::task_group outer;
  outer.run([&] {
    tbb::task_group inner;
    inner.run([&] { outer.run([] { shared++; }); });
    inner.wait();
    shared++;
  });
  outer.wait();
}

CASE(invoke) {
  tbb::parallel_invoke([] { shared++; }, [] { shared++; });
}

CASE(neighbours) {
  tbb::parallel_for(tbb::blocked_range<int>(0, 63),
                    [](const tbb::blocked_range<int>& r) { sums[r.begin() + 1] += sums[r.begin()]; },
                    tbb::simple_partitioner());
}

CASE(reduce) {
  tbb::parallel_deterministic_reduce(
      tbb::blocked_range<int>(0, 64), 0L,
      [](const tbb::blocked_range<int>&, long sum) {
        shared++;
        work(100);
        return sum;
      },
      std::plus<long>(), tbb::simple_partitioner());
}

CASE(scan) {
  tbb::parallel_scan(
      tbb::blocked_range<int>(0, 64), 0L,
      [](const tbb::blocked_range<int>&, long sum, bool) {
        shared++;
        return sum;
      },
      std::plus<long>(), tbb::simple_partitioner());
}

CASE(each) {
  std::vector<int> values(8);
  tbb::parallel_for_each(values, [](int) { shared++; });
}

CASE(thrown) {
  tbb::task_group group;
  group.run([] {
    shared++;
    throw 1;
  });
  shared++;
  try {
    group.wait();
  } catch (int) {
  }
}

CASE(pipeline) {
  int n = 0;
  tbb::parallel_pipeline(4, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order,
                                                        [&](tbb::flow_control& control) {
                                                          if (n == 20) control.stop();
                                                          return n++;
                                                        }) &
                                tbb::make_filter<int, void>(tbb::filter_mode::parallel, [](int) { shared++; }));
}

CASE(flow) {
  tbb::flow::graph graph;
  tbb::flow::function_node<int> node(graph, tbb::flow::unlimited, [](int) { shared++; });
  for (int i = 0; i < 4; i++) node.try_put(i);
  graph.wait_for_all();
}

CASE(own_and_shared) {
  int before = shared;
  tbb::parallel_invoke([] { shared++; }, [&] { before = shared; });
}

CASE(no_lock) {
  tbb::null_mutex mutex;
  tbb::parallel_for(0, 4, [&](int) {
    tbb::null_mutex::scoped_lock lock(mutex);
    shared++;
  }, tbb::simple_partitioner());
}

template <typename Mutex>
static void sometimes_locked() {
  static Mutex mutex;
  tbb::parallel_for(0, 8, [](int i) {
    if (i == 5) {
      shared++;
      return;
    }
    typename Mutex::scoped_lock lock(mutex);
    shared++;
  }, tbb::simple_partitioner());
}

// Mutexes that lie in one word of memory are still different ones.
CASE(different_locks) {
  static struct {
    tbb::spin_mutex one, two;
  } mutexes;
  tbb::parallel_invoke(
      [] {
        tbb::spin_mutex::scoped_lock lock(mutexes.one);
        shared++;
      },
      [] {
        tbb::spin_mutex::scoped_lock lock(mutexes.two);
        shared++;
      });
}

// A reader that writes: others read at the same time.
template <typename Mutex>
static void writing_reader() {
  static Mutex mutex;
  tbb::parallel_for(0, 8, [](int i) {
    typename Mutex::scoped_lock lock(mutex, false);
    sums[i] = shared;
    if (i == 5) shared = 7;
  }, tbb::simple_partitioner());
}

CASE(spin_mutex) { sometimes_locked<tbb::spin_mutex>(); }
CASE(mutex) { sometimes_locked<tbb::mutex>(); }
CASE(queuing_mutex) { sometimes_locked<tbb::queuing_mutex>(); }
CASE(speculative_spin_mutex) { sometimes_locked<tbb::speculative_spin_mutex>(); }
CASE(spin_rw_mutex) { writing_reader<tbb::spin_rw_mutex>(); }
CASE(rw_mutex) { writing_reader<tbb::rw_mutex>(); }
CASE(queuing_rw_mutex) { writing_reader<tbb::queuing_rw_mutex>(); }
CASE(speculative_spin_rw_mutex) { writing_reader<tbb::speculative_spin_rw_mutex>(); }
