// pass: --lean
// What is left out and what is told at once: accesses of loops, and repeated ones. Everything that is printed happens, and nothing else.
#include "common.h"
#include <atomic>
#include <cerrno>
#include <cmath>
#include <mutex>

extern "C" { extern const int prints_accesses = 1; }

long a[12], b[12], grid[4][5], total;
int word[4], flag;
short half[8];
int port;
double results[4], *where = results;
std::atomic<int> counter;
std::mutex m;
const name names[] = {NAME(a), NAME(b), NAME(grid), NAME(total), NAME(word), NAME(flag), NAME(half), NAME(port), NAME(results), NAME(where), NAME(m), {}};

UNDER_TEST void nothing_known() { asm volatile("" ::: "memory"); }
UNDER_TEST void may_throw(long i) { if (i > 2) throw 1; }

// Loops.
UNDER_TEST void fill(long *to, long count) { for (long i = 0; i < count; i++) to[i] = i * i; }
UNDER_TEST void backwards(long *to, long count) { for (long i = count; i-- > 0;) to[i] = i * i + 1; }
UNDER_TEST void every_second(long *to, long count) { for (long i = 0; i < count; i += 2) to[i] = i * 3; }
UNDER_TEST void shift(long *to, long count) { for (long i = 1; i < count; i++) to[i] = to[i - 1] * 3; }
UNDER_TEST void add(long *to, const long *from, long count) { for (long i = 0; i < count; i++) to[i] += from[i] * 3; }
UNDER_TEST void accumulate(const long *from, long *to, long count) { for (long i = 0; i < count; i++) *to += from[i]; }
UNDER_TEST long find(const long *from, long what) {
  for (long i = 0; i < 12; i++) if (from[i] == what) return i;
  return -1;
}
UNDER_TEST void under_condition(long *to, const long *from) {
  for (long i = 0; i < 4; i++) if (from[i] > 1) to[i] = from[i];
}
UNDER_TEST void under_steady_condition(long *to, bool really, long count) {
  for (long i = 0; i < count; i++) { a[i] = i * 7; if (really) to[i] = i * i; }
}
UNDER_TEST void of_a_port(long count) { for (long i = 0; i < count; i++) *(volatile int *)&port = i; }
UNDER_TEST void with_atomics(long *to, long count) { for (long i = 0; i < count; i++) { to[i] = i * 5; counter++; } }
UNDER_TEST void with_calls(long *to, long count) { for (long i = 0; i < count; i++) { to[i] = i * 5; nothing_known(); } }
UNDER_TEST void with_locks(long *to, long count) { for (long i = 0; i < count; i++) { m.lock(); to[i] = i * 5; m.unlock(); } }
UNDER_TEST void with_exceptions(long *to, long count) {
  try { for (long i = 0; i < count; i++) { to[i] = i * 5; may_throw(i); } } catch (int) { flag = 1; }
}
UNDER_TEST void unknown_number(long *to, long until) { for (long i = 0; to[i] != until; i++) to[i + 6] = i * i; }
UNDER_TEST void middle_exit(long *to, long count) {
  for (long i = 0;; i++) {
    to[0] += i;
    if (i == count) break;
    to[i + 1] = i * 9;
  }
}

// Side by side: told at once if they are of one line.
struct Box { long left, top, right, bottom; };
UNDER_TEST void of_one_line(Box *to, const Box *from) { to->left = from->left + 1; to->top = from->top + 1; to->right = from->right + 1; to->bottom = from->bottom + 1; }
UNDER_TEST void of_some_lines(Box *to) {
  to->left = to->left * 3;
  to->top = to->top * 3;
  to->right = to->right * 3;
  to->bottom = to->bottom * 3;
}
UNDER_TEST void with_a_lock_between(long *to) { to[0] = 1 + flag; to[1] = 2 + flag; m.lock(); to[2] = 3 + flag; to[3] = 4 + flag; m.unlock(); }

// Loops in loops.
UNDER_TEST void all_of_it() { for (auto &row : grid) for (long &one : row) one = 3 + flag; }
UNDER_TEST void columns(long rows) { for (long k = 0; k < 5; k += 2) for (long i = 0; i < rows; i++) grid[i][k] = i * k * k; }
UNDER_TEST void triangle() { for (long i = 0; i < 4; i++) for (long k = 0; k <= i; k++) grid[i][k] = i * k * k; }
UNDER_TEST void product(const long *from, long *to, long rows, long inner, long count) {
  for (long i = 0; i < rows; i++)
    for (long k = 0; k < inner; k++)
      for (long j = 0; j < count; j++) to[i * count + j] += from[i * inner + k] * b[k * count + j];
}

// Objects in loops: what one line does side by side is told at once, and what it does twice as what happens again. (What is written may be
// the same memory as what is read.)
struct Point { double x, y; };
struct Tagged { long left, right; int tag; };
UNDER_TEST void sums_of_points(double *to, const Point *from, long count) {
  for (long i = 0; i < count; i++) to[i] = from[i].x * 3 + from[i].y;
}
UNDER_TEST void sums_of_tagged(long *to, const Tagged *from, long count) {
  for (long i = 0; i < count; i++) to[i] = from[i].left * from[i].right + from[i].tag;
}
UNDER_TEST void of_points_by_lines(double *to, const Point *from, long count) {
  for (long i = 0; i < count; i++) {
    to[i] = from[i].x * 3;
    to[i + 1] = from[i].y * 5;
  }
}
UNDER_TEST void twice_in_a_line(double *to, const Point *from, long count) {
  for (long i = 0; i < count; i++) to[i] = from[i].x * 3, to[i + 1] = from[i].x + from[i].y;
}
UNDER_TEST void ends_of_boxes(Box *of, long count) { for (long i = 0; i < count; i++) of[i].left = i * i, of[i].bottom = i * 3; }
UNDER_TEST void corners_of_boxes(Box *of, long count, long rows) {
  for (long k = 0; k < rows; k++) for (long i = 0; i < count; i++) of[i + 2 * k].left = i * k * 5, of[i + 2 * k].top = i * k * 3;
}

// Repeated accesses. What is written in between may be the same memory, so that compilers do not remember what they have read.
UNDER_TEST void three_reads(const int *from, int *to) { to[0] = *from; to[1] = *from; to[2] = *from; to[3] = *from; }
UNDER_TEST void two_on_one_side(const int *from, int *to, bool more) {
  to[0] = *from;
  if (more) to[1] = *from;
  to[2] = *from;
  to[3] = *from;
}
UNDER_TEST void behind_a_lock(const int *from, int *to) { to[0] = *from; to[1] = *from; m.lock(); to[2] = *from; m.unlock(); }
UNDER_TEST void three_writes(int *to, const int *from) { *to = from[0]; *to = from[1]; *to = from[2]; *to = from[3]; }
union Both { int whole; short parts[2]; };
UNDER_TEST void of_parts(Both *from, int *to) {
  to[0] = from->whole;
  to[1] = from->whole;
  to[2] = from->parts[1];
  from->parts[0] = 1;
  to[3] = from->whole;
}

// Small objects.
struct Pair { long left, right; };
UNDER_TEST void sum_of_two(long *to, const Pair *from) { *to = from->left + from->right; }
UNDER_TEST void change_of_two(Pair *of) { of->left += 1, of->right += 2; }
UNDER_TEST void of_two_lines(long *to, const Pair *from) {
  const long left = from->left;
  *to = left * from->right;
}
UNDER_TEST void first_of_another_pair(Box *of, const Box *from) {
  of->left = from->left * from->top;
  of->bottom = from->top - from->right;
}
UNDER_TEST void three_of_them(long *to, const Box *from) { *to = from->left + from->top + from->right; }
UNDER_TEST void a_lock_between_two(long *to, const Pair *from) { m.lock(); total = from->left; m.unlock(); *to = from->right; }
struct Corners { int at[3]; };
UNDER_TEST void halves_of_a_word(long *to, const Corners *from) { *to = from->at[0] + from->at[1] + from->at[2]; }
UNDER_TEST void halves_of_two_words(long *to, const Corners *from) { *to = from->at[1] - from->at[2]; }
// What does not change in a loop with functions of mathematics in it, which may set errno. In the second one errno is looked at.
UNDER_TEST void roots(double *const *to, long count) { for (long i = 0; i < count; i++) (*to)[i] = std::log(double(i + 1 + flag)); }
UNDER_TEST void roots_and_errors(double *const *to, long count) {
  for (long i = 0; i < count; i++) { (*to)[i] = std::log(double(i + 1 + flag)); if (errno) return; }
}
struct Six { long values[6]; };
UNDER_TEST void copy_of_two(Pair *to, const Pair *from) { *to = *from; }
UNDER_TEST void copy_of_six(Six *to, const Six *from) { *to = *from; }
UNDER_TEST void zeros(Six *to) { *to = Six(); }

int main() {
  SHOW(fill(a, 3));
  SHOW(fill(a, 0));
  SHOW(fill(a, 1));
  SHOW(backwards(a, 3));
  SHOW(every_second(a, 5));
  SHOW(shift(a, 4));
  SHOW(add(a, b, 4));
  SHOW(add(a + 1, a, 4));
  SHOW(accumulate(a, &total, 3));
  SHOW(accumulate(a, &total, 1));
  SHOW(total = find(a, 7));
  SHOW(under_condition(b, a));
  SHOW(under_steady_condition(b, true, 2));
  SHOW(under_steady_condition(b, false, 2));
  SHOW(of_a_port(2));
  SHOW(with_atomics(a, 2));
  SHOW(with_calls(a, 2));
  SHOW(with_locks(a, 2));
  SHOW(with_exceptions(a, 5));
  b[2] = -1;
  SHOW(unknown_number(b, -1));
  SHOW(middle_exit(a, 2));
  SHOW(middle_exit(a, 0));
  SHOW(of_one_line((Box *)a, (Box *)b));
  SHOW(of_one_line((Box *)a, (Box *)a));
  SHOW(of_some_lines((Box *)a));
  SHOW(with_a_lock_between(a));
  SHOW(all_of_it());
  SHOW(columns(3));
  SHOW(columns(0));
  SHOW(triangle());
  SHOW(product(a, &grid[0][0], 2, 3, 4));
  SHOW(product(a, &grid[0][0], 1, 1, 4));
  SHOW(product(a, &grid[0][0], 2, 3, 0));
  SHOW(sums_of_points(results, (Point *)a, 3));
  SHOW(sums_of_points(results, (Point *)a, 0));
  SHOW(sums_of_tagged(b, (Tagged *)a, 3));
  SHOW(of_points_by_lines(results, (Point *)a, 3));
  SHOW(twice_in_a_line(results, (Point *)a, 3));
  SHOW(ends_of_boxes((Box *)a, 3));
  SHOW(corners_of_boxes((Box *)a, 1, 2));
  SHOW(three_reads(&flag, word));
  SHOW(two_on_one_side(&flag, word, true));
  SHOW(two_on_one_side(&flag, word, false));
  SHOW(behind_a_lock(&flag, word));
  SHOW(three_writes(&flag, word));
  SHOW(of_parts((Both *)half, word));
  SHOW(copy_of_two((Pair *)a, (Pair *)b));
  SHOW(copy_of_two((Pair *)a, (Pair *)a));
  SHOW(sum_of_two(&total, (Pair *)a));
  SHOW(change_of_two((Pair *)a));
  SHOW(of_two_lines(&total, (Pair *)a));
  SHOW(first_of_another_pair((Box *)b, (Box *)a));
  SHOW(three_of_them(&total, (Box *)a));
  SHOW(a_lock_between_two(b, (Pair *)a));
  SHOW(halves_of_a_word(&total, (Corners *)word));
  SHOW(halves_of_two_words(&total, (Corners *)word));
  SHOW(roots(&where, 3));
  SHOW(roots_and_errors(&where, 3));
  SHOW(copy_of_six((Six *)a, (Six *)b));
  SHOW(zeros((Six *)a));
}
