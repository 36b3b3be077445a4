// Shapes of the other side: what happens for certain is told, and what is lost is a warning.
#include "common.h"
#include <stdlib.h>

struct Node {
  int value;
  Node *next;
  int cells[8];
};
int a, b, c, d, index_of;
int table[16];
Node node, *head = &node;
char image[64];
struct Pair {
  int x, y;
  Node *link;
  UNDER_TEST void by_this();
} pair;
const name names[] = {NAME(a), NAME(b), NAME(c), NAME(d), NAME(index_of), NAME(table), NAME(node), NAME(head), NAME(pair), NAME(image), {}};

void elsewhere(int) __attribute__((weak));  // another module may have another one

UNDER_TEST void one_side() { if (a == 1) b = 2; }
UNDER_TEST void early_return() {
  if (a == 1) {
    b = 1;
    return;
  }
  c = 2;
}
UNDER_TEST void nested() {
  if (a == 1) {
    d = 1;
    if (b == 2) c = 3;
    table[2] = 4;
  } else {
    table[0] = 5;
  }
}
UNDER_TEST void both_conditions() { if (a == 1 && b == 2) c = 3; }
UNDER_TEST void loop_inside(int count) {
  if (a == 1) {
    for (int i = 0; i < count; i++) table[i] = i;
    c = 1;
  } else {
    d = 1;
  }
}
UNDER_TEST void in_a_loop() { for (int i = 0; i < 3; i++) { if (table[i] > a) table[i + 4] = 1; else d = i; } }
UNDER_TEST void body_of_a_loop() {
  int i = 0;
  while (table[i] > 5) {
    table[i + 1] = 0;
    i++;
  }
}
UNDER_TEST void address_by_load() { if (a == 1) table[index_of & 15] = 1; }
UNDER_TEST void address_by_pointer() { if (a == 1) head->next->value = 1; }
UNDER_TEST void address_is_changed() {
  if (a == 1) {
    index_of = b;
    asm volatile("" ::: "memory");
    table[index_of & 15] = 1;
  }
}
UNDER_TEST void guarded(Node *p) { if (p) p->value = 1; else d = 3; }
void Pair::by_this() { if (x == 2) link->value = 1; else y = 3; }
static UNDER_TEST void callee(Node *n, int k) { n->cells[k] = k; }
static UNDER_TEST Node *finds(Node *n) { n->value = 7; return n + 0; }
UNDER_TEST void calls() { if (a == 1) callee(&node, 3); else d = 1; }
UNDER_TEST void uses_a_result() { if (a == 1) finds(&node)->cells[1] = 1; else d = 1; }
static UNDER_TEST void recursive(int n) { if (n) { d = n; recursive(n - 1); } }
UNDER_TEST void calls_recursive() { if (a == 1) { c = 1; recursive(b); table[1] = 1; } }
UNDER_TEST void calls_elsewhere() { if (a == 1) { c = 1; if (elsewhere) elsewhere(1); table[1] = 1; } }
UNDER_TEST void calls_unknown() { if (a == 1) { c = 1; elsewhere(1); table[1] = 1; } }
UNDER_TEST void calls_library() { if (a == 1) { c = 1; puts("not executed"); table[1] = 1; } }
UNDER_TEST void aborts() { if (a == 1) { c = 1; abort(); } d = 1; }
UNDER_TEST void copies() { if (a == 1) __builtin_memcpy(image + 8, &node, sizeof node); else d = 1; }
UNDER_TEST void own_memory() { if (a == 1) { int *p = new int[b + 1]; p[0] = c; d = p[b & 1]; delete[] p; } }
UNDER_TEST void constant() { for (int i = 0; i < 2; i++) if (i == 1) d = i; }

int main() {
  SHOW(one_side());
  SHOW(early_return());
  a = 1;
  SHOW(early_return());
  SHOW(nested());
  a = 0;
  SHOW(nested());
  SHOW(both_conditions());
  SHOW(loop_inside(3));
  SHOW(in_a_loop());
  SHOW(body_of_a_loop());
  SHOW(address_by_load());
  SHOW(address_by_pointer());
  SHOW(address_is_changed());
  SHOW(guarded(&node));
  SHOW(pair.by_this());
  SHOW(calls());
  SHOW(uses_a_result());
  SHOW(calls_recursive());
  SHOW(calls_elsewhere());
  SHOW(calls_unknown());
  SHOW(calls_library());
  SHOW(aborts());
  SHOW(copies());
  SHOW(own_memory());
  SHOW(constant());
}
