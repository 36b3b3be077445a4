// pass: --branches
// What needs not be told: accesses that happen anyway with the same locks, locals, and sides that no schedule can choose.
#include "common.h"
#include <mutex>

int a, b, c, d;
std::mutex m;
const name names[] = {NAME(a), NAME(b), NAME(c), NAME(d), NAME(m), {}};
static const int fixed[4] = {1, 2, 3, 4};

UNDER_TEST void on_both_sides() { if (a) { b = 1; asm volatile(""); } else { b = 2; c = 3; } }
UNDER_TEST void before() { b = 1; if (a) { b = 2; c = 3; } }
UNDER_TEST void behind() { if (a) { b = 2; asm volatile("" ::: "memory"); } b = 1; }
UNDER_TEST void under_a_lock() { if (a) { m.lock(); b = 1; m.unlock(); } else { b = 2; asm volatile(""); } }
UNDER_TEST void lock_between() { b = 1; m.lock(); m.unlock(); if (a) b = 2; }
UNDER_TEST void read_and_write() { c = b; if (a) b = 2; }
UNDER_TEST int locals(int i) { int own[4] = {}; if (a) own[i & 3] = fixed[i & 1]; return own[1]; }
UNDER_TEST void nothing_read() { for (int i = 0; i < 3; i++) if (i == 1) b = 1; else c = 1; }

int main() {
  SHOW(on_both_sides());
  SHOW(before());
  SHOW(behind());
  SHOW(under_a_lock());
  SHOW(lock_between());
  SHOW(read_and_write());
  SHOW(locals(1));
  SHOW(nothing_read());
}
