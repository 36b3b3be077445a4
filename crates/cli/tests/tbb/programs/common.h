// Cases by name, run with as many workers as the variable WORKERS says.
#include <oneapi/tbb.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/scalable_allocator.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

struct Case {
  const char* name;
  void (*run)();
  Case* next;
  static Case*& first() {
    static Case* first = nullptr;
    return first;
  }
  Case(const char* name, void (*run)()) : name(name), run(run), next(first()) { first() = this; }
};

#define CASE(name)                            \
  static void run_##name();                   \
  static Case case_##name(#name, run_##name); \
  static void run_##name()

// Something that takes a while, so that other workers get something to do.
inline long work(int n) {
  volatile long sum = 0;
  for (int i = 0; i < n; i++) sum = sum + i;
  return sum;
}

inline void sleep_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

int main(int count, char** words) {
  if (count < 2) {
    for (Case* at = Case::first(); at; at = at->next) std::puts(at->name);
    return 0;
  }
  const char* said = std::getenv("WORKERS");
  int workers = said ? std::atoi(said) : 2;
  tbb::global_control control(tbb::global_control::max_allowed_parallelism, workers);
  tbb::task_arena arena(workers);
  for (Case* at = Case::first(); at; at = at->next) {
    if (std::strcmp(at->name, words[1]) == 0) {
      arena.execute([&] { at->run(); });
      return 0;
    }
  }
  return 1;
}
