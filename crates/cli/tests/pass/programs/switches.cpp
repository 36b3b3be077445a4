// A switch is a branch for each of its targets.
#include "common.h"

int a, b, c, d;
const name names[] = {NAME(a), NAME(b), NAME(c), NAME(d), {}};

UNDER_TEST void several() {
  switch (a) {
  case 1: b = 1; break;
  case 2:
  case 3: c = 2; break;
  case 7: d = 3; b = 4; break;
  default: d = 5;
  }
}

int main() {
  SHOW(several());
  a = 3;
  SHOW(several());
}
