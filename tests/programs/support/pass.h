// The calls that keirin's pass of the compiler puts into programs, for programs that make them by hand.
#ifndef KEIRIN_TESTS_PASS_H
#define KEIRIN_TESTS_PASS_H

#ifdef __cplusplus
extern "C" {
#endif

struct keirin_unfollowed {
  const char *file;
  unsigned line;
  const char *reason;
};

struct keirin_pass {
  unsigned version;
  unsigned flags;
  unsigned long followed;
  unsigned long unfollowed_count;
  const struct keirin_unfollowed *unfollowed;
};

unsigned __keirin_read_value(const void *address, unsigned long value, unsigned size);
void __keirin_write_value(const void *address, unsigned long value, unsigned size, const char *formula, unsigned count,
                          const unsigned *reads);
void __keirin_branch(unsigned taken, const char *formula, unsigned count, const unsigned *reads);
void __keirin_other_read(const void *address, unsigned long size);
void __keirin_other_write(const void *address, unsigned long size);
void __keirin_other_value(unsigned long value);
void __keirin_other_acquire(const void *lock, unsigned shared);
void __keirin_other_release(const void *lock, unsigned shared);
void __keirin_other_end(void);
void __keirin_pass(const struct keirin_pass *about);

#ifdef __cplusplus
}
#endif

enum { TELLS_BRANCHES = 1, TELLS_VALUES = 2 };

// The value of a variable; the number of the read is put into another one.
#define READ(variable, number)                                                                                         \
  ({                                                                                                                   \
    __typeof__(variable) read_ = (variable);                                                                           \
    (number) = __keirin_read_value(&(variable), (unsigned long)read_, sizeof(variable));                               \
    read_;                                                                                                             \
  })

// Writes a value that depends on nothing that was read.
#define WRITE(variable, value)                                                                                         \
  do {                                                                                                                 \
    (variable) = (value);                                                                                              \
    __keirin_write_value(&(variable), (unsigned long)(value), sizeof(variable), 0, 0, 0);                              \
  } while (0)

#endif
