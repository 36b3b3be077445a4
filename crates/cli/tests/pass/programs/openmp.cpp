// flags: -fopenmp
// link: -fopenmp
// OpenMP: critical, its locks, and its loops, whose own branches are not the program's.
#include "common.h"
#include <omp.h>

int a, b, c, cells[4];
omp_lock_t lock;
omp_nest_lock_t nest;
const name names[] = {NAME(a), NAME(b), NAME(c), NAME(cells), NAME(lock), NAME(nest), {}};

UNDER_TEST void critical() {
  if (a) {
#pragma omp critical
    b = 1;
    c = 1;
  }
}
UNDER_TEST void locked() { if (a) { omp_set_lock(&lock); b = 1; omp_unset_lock(&lock); c = 1; } }
UNDER_TEST void nested_lock() { if (a) { omp_set_nest_lock(&nest); b = 1; omp_unset_nest_lock(&nest); } }
UNDER_TEST void loop() {
#pragma omp for
  for (int i = 0; i < 2; i++)
    if (cells[i] == a) b = 1;
    else c = 1;
}
UNDER_TEST void single() {
#pragma omp single
  {
    b = 2;
#pragma omp task
    if (a) c = 1;
#pragma omp taskwait
  }
}

int main() {
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  SHOW(critical());
  SHOW(locked());
  SHOW(nested_lock());
  SHOW(loop());
  SHOW(single());
}
