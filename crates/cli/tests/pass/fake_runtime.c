/* Stands in for the runtime: prints what the compiler pass tells, one line for each call, and does what the sanitizer's calls must do.
 * Addresses are printed by the names that the program gives them, see programs/common.h. A program without names is silent. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
  const void *address;
  const char *text;
  unsigned long size;
};
extern const struct name names[] __attribute__((weak));

/* Programs look here before they tell what other sides would do. */
uint32_t __keirin_other_sides = 1;
/* And here before they tell what is nothing new to races. */
uint32_t __keirin_repeats = 1;
__attribute__((constructor)) static void listens(void) {
  if (getenv("FAKE_DEAF")) __keirin_other_sides = 0;
  if (getenv("FAKE_RACES")) __keirin_repeats = 0;
}

/* What the shadow looks like that makes a call of a hook superfluous. There is none. */
_Thread_local uint64_t __keirin_known_2[2];

static uint32_t reads;
static int quiet = 1;

void fake_start(void) { quiet = 0; }
void fake_stop(void) { quiet = 1; }

static const char *named(const void *address) {
  static char text[64];
  for (const struct name *name = names; name && name->text; name++) {
    unsigned long offset = (unsigned long)((const char *)address - (const char *)name->address);
    if (offset < name->size) {
      if (offset == 0) return name->text;
      snprintf(text, sizeof text, "%s+%lu", name->text, offset);
      return text;
    }
  }
  return "?";
}

/* A value that is an address differs from run to run. */
static void value_is(uint64_t value, uint32_t size) {
  const char *name = size == 8 ? named((const void *)value) : "?";
  if (*name != '?') printf("&%s", name);
  else printf("%llu", (unsigned long long)value);
}

static void formula_is(const char *formula, uint32_t count, const uint32_t *numbers) {
  if (!formula) printf(" independent");
  else if (!*formula) printf(" unknown");
  else printf(" [%s]", formula);
  for (uint32_t i = 0; i < count; i++) printf(" $%u=#%u", i + 1, numbers[i]);
  printf("\n");
}

uint32_t __keirin_read_value(const void *address, uint64_t value, uint32_t size) {
  if (quiet) return 0;
  printf("read%u %s = ", size, named(address));
  value_is(value, size);
  printf(" #%u\n", reads + 1);
  return ++reads;
}
void __keirin_write_value(const void *address, uint64_t value, uint32_t size, const char *formula, uint32_t count,
                          const uint32_t *numbers) {
  if (quiet) return;
  printf("write%u %s = ", size, named(address));
  value_is(value, size);
  formula_is(formula, count, numbers);
}
void __keirin_branch(uint32_t taken, const char *formula, uint32_t count, const uint32_t *numbers) {
  if (quiet) return;
  printf("branch %u", taken);
  formula_is(formula, count, numbers);
}
void __keirin_atomic_of_library(const void *address) { (void)address; }
void __keirin_other_read(const void *address, uint64_t size) {
  if (!quiet) printf("  other read%llu %s\n", (unsigned long long)size, named(address));
}
void __keirin_other_write(const void *address, uint64_t size) {
  if (!quiet) printf("  other write%llu %s\n", (unsigned long long)size, named(address));
}
void __keirin_other_value(uint64_t value) {
  if (!quiet) printf("  other value %llu\n", (unsigned long long)value);
}
void __keirin_other_acquire(const void *lock, uint32_t shared) {
  if (!quiet) printf("  other acquire%s %s\n", shared ? " shared" : "", named(lock));
}
void __keirin_other_release(const void *lock, uint32_t shared) {
  if (!quiet) printf("  other release%s %s\n", shared ? " shared" : "", named(lock));
}
/* As if nothing of it had been told: what follows prints it. */
uint32_t __keirin_other_side(const uint64_t *side, const uintptr_t *addresses, uint32_t count) {
  (void)side, (void)addresses, (void)count;
  return 0;
}
void __keirin_other_end(void) {
  if (!quiet) printf("  end\n");
}
static uint64_t loops[8];
static int loop_number(uint64_t loop) {
  for (int i = 0; i < 8; i++) {
    if (!loops[i]) loops[i] = loop;
    if (loops[i] == loop) return i + 1;
  }
  return 0;
}
void __keirin_loop_enter(uint64_t loop) {
  if (!quiet) printf("enter loop %d\n", loop_number(loop));
}
void __keirin_loop_iteration(uint64_t loop) {
  if (!quiet) printf("iteration of loop %d\n", loop_number(loop));
}
void __keirin_loop_exit(uint64_t loop) {
  if (!quiet) printf("exit loop %d\n", loop_number(loop));
}

struct keirin_pass {
  uint32_t version, flags;
  uint64_t followed, count;
  const struct {
    const char *file;
    uint32_t line;
    const char *reason;
  } *unfollowed;
};
void __keirin_pass(const struct keirin_pass *pass) {
  if (!names) return;
  printf("pass version %u flags %u followed %llu\n", pass->version, pass->flags, (unsigned long long)pass->followed);
  for (uint64_t i = 0; i < pass->count; i++) {
    const char *slash = strrchr(pass->unfollowed[i].file, '/');
    printf("unfollowed %s:%u: %s\n", slash ? slash + 1 : pass->unfollowed[i].file, pass->unfollowed[i].line,
           pass->unfollowed[i].reason);
  }
}

/* All accesses of a loop. */
void __keirin_accesses(const void *address, uint64_t what, int64_t distance, uint64_t rows, int64_t row_distance) {
  if (quiet) return;
  printf("%s%u %s", what & 32 ? "writes" : "reads", (unsigned)(what & 31), named(address));
  printf(": %llu by %lld", (unsigned long long)(what >> 8), (long long)distance);
  if (rows != 1) printf(", %llu rows by %lld", (unsigned long long)rows, (long long)row_distance);
  printf("%s\n", what & 64 ? ", again" : "");
}

/* What the sanitizer calls. A program that defines this has its accesses printed. */
extern const int prints_accesses __attribute__((weak));
static void access_is(const char *what, const void *address) {
  if (!quiet && &prints_accesses && *named(address) != '?') printf("%s %s\n", what, named(address));
}
#define ACCESS(name) \
  void __tsan_##name(void *address) { access_is(#name, address); }
ACCESS(read1) ACCESS(read2) ACCESS(read4) ACCESS(read8) ACCESS(read16)
ACCESS(write1) ACCESS(write2) ACCESS(write4) ACCESS(write8) ACCESS(write16)
ACCESS(unaligned_read2) ACCESS(unaligned_read4) ACCESS(unaligned_read8) ACCESS(unaligned_read16)
ACCESS(unaligned_write2) ACCESS(unaligned_write4) ACCESS(unaligned_write8) ACCESS(unaligned_write16)
#define NOTHING(name) \
  void name(void *address) { (void)address; }
NOTHING(__tsan_func_entry) NOTHING(__tsan_vptr_read)
void __tsan_init(void) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **address, void *value) { (void)address, (void)value; }
void *__tsan_memcpy(void *to, const void *from, unsigned long size) { return memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, unsigned long size) { return memmove(to, from, size); }
void *__tsan_memset(void *to, int value, unsigned long size) { return memset(to, value, size); }
void __tsan_atomic_thread_fence(int order) { (void)order; }
void __tsan_atomic_signal_fence(int order) { (void)order; }
#define ATOMIC(bits, type)                                                                                              \
  type __tsan_atomic##bits##_load(const volatile type *a, int o) { (void)o; return __atomic_load_n(a, 5); }             \
  void __tsan_atomic##bits##_store(volatile type *a, type v, int o) { (void)o; __atomic_store_n(a, v, 5); }             \
  type __tsan_atomic##bits##_exchange(volatile type *a, type v, int o) { (void)o; return __atomic_exchange_n(a, v, 5); } \
  type __tsan_atomic##bits##_fetch_add(volatile type *a, type v, int o) { (void)o; return __atomic_fetch_add(a, v, 5); } \
  type __tsan_atomic##bits##_fetch_sub(volatile type *a, type v, int o) { (void)o; return __atomic_fetch_sub(a, v, 5); } \
  type __tsan_atomic##bits##_fetch_and(volatile type *a, type v, int o) { (void)o; return __atomic_fetch_and(a, v, 5); } \
  type __tsan_atomic##bits##_fetch_or(volatile type *a, type v, int o) { (void)o; return __atomic_fetch_or(a, v, 5); }  \
  type __tsan_atomic##bits##_fetch_xor(volatile type *a, type v, int o) { (void)o; return __atomic_fetch_xor(a, v, 5); } \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type e, type v, int o, int f) {                     \
    (void)o, (void)f;                                                                                                   \
    __atomic_compare_exchange_n(a, &e, v, 0, 5, 5);                                                                     \
    return e;                                                                                                           \
  }
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)

/* A function of which nothing is known. */
void fake_barrier(void) {
  if (!quiet) printf("barrier\n");
}

/* What the headers of oneTBB call. */
void __keirin_tbb_mutex(int what, const volatile void *mutex, unsigned long size, const char *function) {
  (void)what, (void)mutex, (void)size, (void)function;
}
void __keirin_tbb_made(const volatile void *mutex, int readers) { (void)mutex, (void)readers; }
void __keirin_tbb_own(void) {}
void __keirin_tbb_reference(int what, const volatile void *counted, unsigned long size) { (void)what, (void)counted, (void)size; }
void __keirin_tbb_node(int what, const volatile void *node) { (void)what, (void)node; }
