// The second task of Figures 1 and 4 of the paper, with both ways of its branch: the records are those of the figure.
#include "common.h"
#include <mutex>

int X, Y;
bool C;
std::mutex L1;
const name names[] = {NAME(X), NAME(Y), NAME(C), NAME(L1), {}};

UNDER_TEST void second_task() {
  L1.lock();
  bool t = C;
  L1.unlock();
  if (t == true) {
    L1.lock();
    Y = X - 1;
    L1.unlock();
  } else {
    Y = X + 1;
  }
}

int main() {
  SHOW(second_task());
  C = true;
  SHOW(second_task());
}
