/* A program whose places have names, for tests of symbols: each label is an instruction that a test can look up. */
#include <stdlib.h>

int counter;
int table[8];

static inline __attribute__((always_inline)) void bump(int *cell) {
  __asm__ volatile("place_in_bump: nop");
  *cell += 1;
}

__attribute__((noinline)) void worker(void) {
  bump(&counter);
  __asm__ volatile("place_in_worker: nop");
}

int main(void) {
  int *heap = malloc(40);
  __asm__ volatile("place_in_main: nop");
  worker();
  int status = counter + table[4] - 1;
  free(heap);
  return status;
}
