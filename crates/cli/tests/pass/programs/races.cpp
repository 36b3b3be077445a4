// pass: --lean
// environment: FAKE_RACES=1
// What is told if nobody minds but who looks for races: a read of memory that is written behind it is not, nor what another line does
// again.
#include "common.h"
#include <atomic>
#include <mutex>

extern "C" { extern const int prints_accesses = 1; }

struct Point { double x, y; };
long a[12], b[12];
double results[4];
int word, flag;
std::atomic<int> counter;
std::mutex m;
const name names[] = {NAME(a), NAME(b), NAME(results), NAME(word), NAME(flag), NAME(m), {}};

UNDER_TEST void add_one(int *to) { *to += 1; }
UNDER_TEST void add_one_by_lines(int *to) {
  const int old = *to;
  *to = old + 1;
}
UNDER_TEST void perhaps(int *to, bool really) { *to = really ? *to + 1 : 5; }
UNDER_TEST void of_another(int *to, const int *from) { *to = *from + 1; }
UNDER_TEST void with_a_lock_between(int *to) { const int old = *to; m.lock(); *to = old + 1; m.unlock(); }
UNDER_TEST void with_an_atomic_between(int *to) { const int old = *to; counter++; *to = old + 1; }
UNDER_TEST void of_two(long *of) { of[0] += 1, of[1] += 2; }
UNDER_TEST void of_four(long *of) { of[0] += 1, of[1] += 2, of[2] += 3, of[3] += 4; }
UNDER_TEST void add(long *to, const long *from, long count) { for (long i = 0; i < count; i++) to[i] += from[i] * 3; }
UNDER_TEST void shift(long *to, long count) { for (long i = 1; i < count; i++) to[i] = to[i - 1] * 3; }
UNDER_TEST void twice_by_lines(double *to, const Point *from, long count) {
  for (long i = 0; i < count; i++) {
    to[i] = from[i].x * 3;
    to[i + 1] = from[i].x + from[i].y;
  }
}
UNDER_TEST void again_under_a_condition(double *to, const Point *from, long count, bool really) {
  for (long i = 0; i < count; i++) {
    if (really)
      to[0] = from[i].y;
    to[1] = from[i].y + 2;
  }
}

int main() {
  SHOW(add_one(&word));
  SHOW(add_one_by_lines(&word));
  SHOW(perhaps(&word, true));
  SHOW(perhaps(&word, false));
  SHOW(of_another(&word, &flag));
  SHOW(with_a_lock_between(&word));
  SHOW(with_an_atomic_between(&word));
  SHOW(of_two(a));
  SHOW(of_four(a));
  SHOW(add(a, b, 4));
  SHOW(shift(a, 4));
  SHOW(twice_by_lines(results, (Point *)a, 3));
  SHOW(again_under_a_condition(results, (Point *)a, 3, true));
}
