// pass: --loops
// Loops and their iterations.
#include "common.h"

int a, b;
const name names[] = {NAME(a), NAME(b), {}};

UNDER_TEST void one(int count) { for (int i = 0; i < count; i++) a += i; }
UNDER_TEST void inside(int count) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < count; k++) __atomic_fetch_add(&b, k, 5);
}
UNDER_TEST void left(int count) { for (int i = 0; i < count; i++) if (__atomic_fetch_add(&b, 1, 5) > 2) return; }

int main() {
  SHOW(one(2));
  SHOW(inside(2));
  SHOW(left(2));
}
