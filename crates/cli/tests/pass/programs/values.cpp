// Values, and how they and conditions are computed from what was read.
#include "common.h"
#include <atomic>
#include <stdint.h>

int a = 5, b = 7, c;
unsigned u = 9;
signed char small = -3;
long large = 1;
bool yes = true;
double real = 1.5, other_real;
int *pointer = &a;
const int fixed[4] = {1, 2, 3, 4};
struct Wide { long one, two; } wide = {1, 2}, other_wide;
std::atomic<int> counter;
std::atomic<bool> flag;
const name names[] = {NAME(a),    NAME(b),    NAME(c),          NAME(u),       NAME(small), NAME(large),     NAME(yes),
                      NAME(real), NAME(other_real), NAME(pointer), NAME(counter), NAME(flag), NAME(wide), NAME(other_wide), {}};

UNDER_TEST void arithmetic() { c = (a + 1) * b - (a << 2); }
UNDER_TEST void division() { c = a / b + int(u % 4) + (a >> 1) + int(u >> 2); }
UNDER_TEST void bits() { c = (a & 6) | (b ^ 3); }
UNDER_TEST void widths() { large = small; c = uint8_t(small); }
UNDER_TEST void choice() { c = a > b ? a : 3; }
UNDER_TEST void copied() { c = a; other_real = real; yes = !yes; }
UNDER_TEST void of_pointer() { c = *pointer; pointer = nullptr; }
UNDER_TEST void floats() { real = real + 1; if (real > 2) c = 1; else b = 1; }
UNDER_TEST void parameter(int p) { c = p; large = p + a; if (p > a) b = 1; }
UNDER_TEST void constants(int i) { c = 4; large = fixed[2]; }
UNDER_TEST void too_wide() { other_wide = wide; }
UNDER_TEST void one_of_two_reads() {
  int t;
  if (a == 5) t = b; else { t = c; u = 1; }
  large = t + 1;
}
UNDER_TEST void atomics() {
  counter++;
  counter.fetch_sub(2);
  counter |= 8;
  int expected = 7;
  counter.compare_exchange_strong(expected, 3);
  if (counter.compare_exchange_strong(expected, 4)) c = 1;
  flag.store(a == 5);
  if (counter.exchange(6) == 4) b = 1;
  if (flag) c = 2;
}
UNDER_TEST void comparisons() {
  if (a < b) c = 1;
  if (u > 8) c = 2;
  if (a <= 5 || b == 3) c = 3;
  if (pointer) c = 4;
  if (!yes) c = 5;
}

int main() {
  SHOW(arithmetic());
  SHOW(division());
  SHOW(bits());
  SHOW(widths());
  SHOW(choice());
  SHOW(comparisons());
  SHOW(copied());
  SHOW(of_pointer());
  SHOW(floats());
  SHOW(parameter(2));
  SHOW(constants(2));
  SHOW(too_wide());
  SHOW(one_of_two_reads());
  SHOW(atomics());
}
