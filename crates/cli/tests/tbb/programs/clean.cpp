// Everything right: no case has a data race, in any schedule.
#include "common.h"

static const int N = 100;
static long values[N];
static long result;

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
  tbb::task_group group;
  group.run([&] { a = fib(n - 1); });
  b = fib(n - 2);
  group.wait();
  return a + b;
}

using Range = tbb::blocked_range<int>;

CASE(fib) { result = fib(12); }

CASE(loops) {
  tbb::parallel_for(0, N, [](int i) { values[i] = work(50); });
  tbb::parallel_for(Range(0, N), [](const Range& r) { for (int i : {r.begin()}) values[i]++; }, tbb::simple_partitioner());
  tbb::parallel_for(Range(0, N), [](const Range& r) { for (int i = r.begin(); i < r.end(); i++) values[i]++; }, tbb::static_partitioner());
  tbb::affinity_partitioner affinity;
  for (int round = 0; round < 3; round++)
    tbb::parallel_for(Range(0, N), [](const Range& r) { for (int i = r.begin(); i < r.end(); i++) values[i] += work(50); }, affinity);
  tbb::parallel_for(tbb::blocked_range2d<int>(0, 10, 0, 10), [](const tbb::blocked_range2d<int>& r) {
    for (int i = r.rows().begin(); i < r.rows().end(); i++)
      for (int j = r.cols().begin(); j < r.cols().end(); j++) values[10 * i + j]++;
  });
}

struct Collect {
  long sum = 0;
  std::vector<int> seen;
  Collect() = default;
  Collect(Collect&, tbb::split) {}
  void operator()(const Range& r) {
    for (int i = r.begin(); i < r.end(); i++) {
      sum += values[i] + work(20);
      seen.push_back(i);
    }
  }
  void join(Collect& other) {
    sum += other.sum;
    seen.insert(seen.end(), other.seen.begin(), other.seen.end());
  }
};

CASE(reduce) {
  auto part = [](const Range& r, long sum) {
    for (int i = r.begin(); i < r.end(); i++) sum += values[i] + work(20);
    return sum;
  };
  result = tbb::parallel_reduce(Range(0, N, 4), 0L, part, std::plus<long>());
  result += tbb::parallel_deterministic_reduce(Range(0, N, 4), 0L, part, std::plus<long>());
  Collect collect;
  tbb::parallel_reduce(Range(0, N, 2), collect);
  result += collect.sum + long(collect.seen.size());
}

CASE(scan) {
  std::vector<long> sums(N);
  result = tbb::parallel_scan(
      Range(0, N, 4), 0L,
      [&](const Range& r, long sum, bool final) {
        for (int i = r.begin(); i < r.end(); i++) {
          sum += values[i] + work(20);
          if (final) sums[i] = sum;
        }
        return sum;
      },
      std::plus<long>());
  result += sums[N - 1];
}

CASE(each_and_sort) {
  std::vector<int> numbers(50);
  std::iota(numbers.begin(), numbers.end(), 0);
  tbb::parallel_for_each(numbers, [](int i) { values[i] = i; });
  std::atomic<int> count{0};
  std::vector<int> roots{3, 3};
  tbb::parallel_for_each(roots, [&](int depth, tbb::feeder<int>& feeder) {
    count++;
    for (int i = 0; depth > 0 && i < 2; i++) feeder.add(depth - 1);
  });
  std::vector<int> mixed(2000);
  for (size_t i = 0; i < mixed.size(); i++) mixed[i] = int(i * 7919 % 1000);
  tbb::parallel_sort(mixed.begin(), mixed.end());
  result = count + mixed[5];
}

CASE(groups) {
  int a = 0, b = 0, c = 0;
  tbb::task_group one, two;
  one.run([&] { a = 1; one.run([&] { c = 1; }); });
  two.run([&] { b = 1; work(500); });
  one.wait();
  result = a + c;
  one.run([&] { a = 2; });
  two.wait();
  result += b;
  b = 3;
  one.wait();
  result += a;
  auto deferred = two.defer([&] { b = 5; });
  two.run(std::move(deferred));
  two.wait();
  result += b;
}

CASE(spawned_outwards) {
  tbb::task_group outer;
  tbb::parallel_for(0, N, [&](int i) { outer.run([=] { values[i] = work(50); }); });
  outer.wait();
  for (long value : values) result += value;
  outer.run([&] {
    tbb::task_group inner;
    inner.run([&] { outer.run([] { values[0] = work(50); }); values[1] = 1; });
    inner.wait();
    values[1] = 2;
  });
  outer.wait();
  result += values[0] + values[1];
}

CASE(one_context_for_two_groups) {
  tbb::task_group_context context;
  tbb::task_group one(context), two(context);
  one.run([] { values[0] = 1; });
  two.run([] { values[1] = work(50); });
  one.wait();
  two.wait();
  result = values[0] + values[1];
}

CASE(exceptions_and_cancellation) {
  for (int round = 0; round < 5; round++) {
    try {
      tbb::parallel_for(0, N, [](int i) {
        values[i] = work(20);
        if (i == 50) throw i;
      });
    } catch (int i) {
      result += values[i];
    }
  }
  tbb::task_group group;
  for (int i = 0; i < 20; i++) group.run([&, i] { if (i == 3) group.cancel(); values[i] = work(50); });
  group.wait();
  for (long value : values) result += value;
}

CASE(arenas) {
  tbb::task_arena arena(2), single(1, 1);
  arena.execute([] { tbb::parallel_for(0, N, [](int i) { values[i] = i; }); });
  tbb::task_group group;
  arena.execute([&] { group.run([] { values[0] = 1; }); });
  arena.execute([&] { group.wait(); });
  tbb::this_task_arena::isolate([] { tbb::parallel_for(0, N, [](int i) { values[i] = i; }); });
  // One at a time, and some by another thread than the one that asks.
  tbb::parallel_for(0, 8, [&](int i) { values[i] = 2; single.execute([&] { values[i] = work(50); }); values[i]++; });
  arena.enqueue(group.defer([] { values[0] = 3; }));
  group.wait();
  std::atomic<bool> done{false};
  arena.enqueue([&] { values[0] = 4; done = true; });
  while (!done) std::this_thread::yield();
  result = values[0];
}

CASE(pipeline) {
  int n = 0;
  std::vector<long> any_order;
  long sum = 0;
  using tbb::filter_mode;
  tbb::parallel_pipeline(
      4,
      tbb::make_filter<void, int>(filter_mode::serial_in_order, [&](tbb::flow_control& control) {
        if (n == 40) control.stop();
        return n++;
      }) &
          tbb::make_filter<int, std::vector<long>>(filter_mode::parallel, [](int i) { return std::vector<long>(3, work(100) + i); }) &
          tbb::make_filter<std::vector<long>, long>(filter_mode::serial_out_of_order, [&](std::vector<long> item) {
            any_order.push_back(item[0]);
            return item[1];
          }) &
          tbb::make_filter<long, void>(filter_mode::serial_in_order, [&](long item) { sum += item; }));
  result = sum + long(any_order.size());
}

CASE(flow_graphs) {
  using namespace tbb::flow;
  graph first;
  function_node<int, int> twice(first, unlimited, [](int i) { return i * 2 + int(work(20) & 1); });
  function_node<int> add(first, serial, [](int i) { result += i; });
  make_edge(twice, add);
  for (int i = 0; i < 20; i++) twice.try_put(i);
  first.wait_for_all();

  graph second;
  long a = 0, b = 0, c = 0;
  using Node = continue_node<continue_msg>;
  Node start(second, [&](continue_msg) { a = 1; }), left(second, [&](continue_msg) { b = a; });
  Node right(second, [&](continue_msg) { c = a; }), end(second, [&](continue_msg) { a = b + c; });
  make_edge(start, left);
  make_edge(start, right);
  make_edge(left, end);
  make_edge(right, end);
  start.try_put(continue_msg());
  second.wait_for_all();
  result += a;

  graph third;
  int count = 0;
  input_node<int> input(third, [&](tbb::flow_control& control) { if (count == 20) control.stop(); return count++; });
  buffer_node<int> buffer(third);
  function_node<int> output(third, serial, [](int i) { result += i; });
  make_edge(input, buffer);
  make_edge(buffer, output);
  input.activate();
  third.wait_for_all();
}

CASE(threads) {
  tbb::task_group group;
  group.run([] { values[0] = 1; });
  std::thread thread([] { tbb::parallel_for(1, N, [](int i) { values[i] = i; }); });
  group.wait();
  thread.join();
  result = values[0] + values[1];
}

CASE(memory) {
  std::vector<long*> blocks(N);
  for (int round = 0; round < 3; round++) {
    tbb::parallel_for(0, N, [&](int i) { blocks[i] = static_cast<long*>(scalable_malloc(64)); *blocks[i] = i; });
    tbb::parallel_for(0, N, [&](int i) { scalable_free(blocks[N - 1 - i]); }, tbb::simple_partitioner());
  }
  tbb::parallel_for(0, N, [](int i) {
    std::vector<int, tbb::cache_aligned_allocator<int>> one(20, i);
    std::vector<int, tbb::scalable_allocator<int>> other(20, i);
    values[i] = one[3] + other[3];
  });
}

template <typename Mutex>
static void locked() {
  static Mutex mutex;
  static long x;
  tbb::parallel_for(0, 30, [](int i) {
    typename Mutex::scoped_lock lock;
    if (i % 3 == 0) {
      if (lock.try_acquire(mutex)) x++;
    } else {
      lock.acquire(mutex);
      x++;
      if (i % 3 == 1) lock.release();
    }
  }, tbb::simple_partitioner());
  result += x;
}

// Held for so long that others wait for it.
CASE(contended_mutex) {
  static tbb::queuing_mutex mutex;
  static long x;
  tbb::parallel_for(0, 30, [](int) {
    tbb::queuing_mutex::scoped_lock lock(mutex);
    x++;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }, tbb::simple_partitioner());
  result += x;
}

template <typename Mutex>
static void read_and_written() {
  static Mutex mutex;
  static long x;
  tbb::parallel_for(0, 30, [](int i) {
    typename Mutex::scoped_lock lock;
    switch (i % 5) {
      case 0: lock.acquire(mutex, true); x++; break;
      case 1: lock.acquire(mutex, false); values[i] = x; break;
      case 2: lock.acquire(mutex, false); values[i] = x; lock.upgrade_to_writer(); x++; break;
      case 3: lock.acquire(mutex, true); x++; lock.downgrade_to_reader(); values[i] = x; break;
      case 4: if (lock.try_acquire(mutex, i % 2 == 0)) values[i] = x; break;
    }
  }, tbb::simple_partitioner());
  result += x;
}

CASE(mutexes) {
  locked<tbb::spin_mutex>();
  locked<tbb::mutex>();
  locked<tbb::queuing_mutex>();
  locked<tbb::speculative_spin_mutex>();
}

CASE(rw_mutexes) {
  read_and_written<tbb::spin_rw_mutex>();
  read_and_written<tbb::rw_mutex>();
  read_and_written<tbb::queuing_rw_mutex>();
  read_and_written<tbb::speculative_spin_rw_mutex>();
}
