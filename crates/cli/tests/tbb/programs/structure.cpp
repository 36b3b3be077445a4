// What tasks there are is known beforehand, whoever runs them.
#include "common.h"

static long fib(int n) {
  if (n < 2) return n;
  long a, b;
  tbb::task_group group;
  group.run([&] { a = fib(n - 1); });
  b = fib(n - 2);
  group.wait();
  return a + b;
}

CASE(fib) { fib(10); }

CASE(invoke) {
  int a, b, c, d;
  tbb::parallel_invoke([&] { a = 1; }, [&] { tbb::parallel_invoke([&] { b = 1; }, [&] { c = 1; }); }, [&] { d = 1; });
}

CASE(loop) {
  int v[8];
  tbb::parallel_for(tbb::blocked_range<int>(0, 8), [&](const tbb::blocked_range<int>& r) { v[r.begin()] = 1; },
                    tbb::simple_partitioner());
}

CASE(nested) {
  int x, y, z;
  tbb::task_group group;
  group.run([&] {
    x = 1;
    group.run([&] { z = 1; });
  });
  group.run([&] { y = 1; });
  group.wait();
  group.run([&] { y = 2; });
  group.run_and_wait([&] { z = 3; });
}

CASE(overlapping) {
  int a, b;
  tbb::task_group one, two;
  one.run([&] { a = 1; });
  two.run([&] { b = 1; });
  one.wait();
  two.wait();
}

CASE(cancelled) {
  tbb::task_group group;
  for (int i = 0; i < 20; i++) group.run([&] { group.cancel(); });
  group.wait();
}

CASE(thrown) {
  tbb::task_group group;
  group.run([] { throw 1; });
  try {
    group.wait();
  } catch (int) {
  }
}

CASE(pipeline) {
  int n = 0;
  tbb::parallel_pipeline(
      2, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order,
                                     [&](tbb::flow_control& control) {
                                       if (n == 10) control.stop();
                                       return n++;
                                     }) &
             tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [](int) {}));
}
