// For programs that are linked with fake_runtime.c, which prints what is told while a call is shown.
#pragma once
#include <stdio.h>

struct name {
  const void *address;
  const char *text;
  unsigned long size;
};
extern "C" {
void fake_start(void);
void fake_stop(void);
// Memory that has a name in what is printed. Each program defines it.
extern const name names[];
}
#define NAME(variable) {&variable, #variable, sizeof(variable)}

// Functions under test are called, not inlined, so that each is on its own.
#define UNDER_TEST __attribute__((noinline))

// Prints what is told of a call.
#define SHOW(call)                                                                \
  do {                                                                            \
    puts(#call);                                                                  \
    shown([] { call; });                                                          \
  } while (0)
template <typename Code>
__attribute__((noinline, no_sanitize("thread"))) void shown(Code code) {
  fake_start();
  code();
  fake_stop();
}
