// For programs that are linked with fake_runtime.c: only what happens between fake_start and fake_stop is printed.
#pragma once
struct name {
  const void *address;
  const char *text;
  unsigned long size;
};
extern "C" {
void fake_start(void);
void fake_stop(void);
extern const name names[];
}
#define NAME(variable) {&variable, #variable, sizeof(variable)}
// Runs a piece of code and prints what is told of it.
template <typename Code>
__attribute__((noinline, no_sanitize("thread"))) void shown(Code code) {
  fake_start();
  code();
  fake_stop();
}
