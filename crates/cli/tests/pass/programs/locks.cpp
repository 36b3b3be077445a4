// Locks that the other side takes and releases.
#include "common.h"
#include <mutex>
#include <pthread.h>
#include <shared_mutex>

int a, b, c;
std::mutex m, n;
std::recursive_mutex again;
std::shared_mutex both;
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
pthread_spinlock_t spin;
pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
const name names[] = {NAME(a),    NAME(b),     NAME(c),    NAME(m),       NAME(n), NAME(again),
                      NAME(both), NAME(plain), {(const void *)&spin, "spin", sizeof spin}, NAME(readers), {}};

UNDER_TEST void guard() { if (a) { std::lock_guard<std::mutex> held(m); b = 1; } }
UNDER_TEST void two_guards() { if (a) { std::lock_guard one(m); std::lock_guard two(n); b = 1; } }
UNDER_TEST void scoped() { if (a) { std::scoped_lock held(m, n); b = 1; } }
UNDER_TEST void unique() { if (a) { std::unique_lock held(m); b = 1; held.unlock(); c = 1; } }
UNDER_TEST void unique_later() { if (a) { std::unique_lock held(m, std::defer_lock); b = 1; held.lock(); c = 1; } }
UNDER_TEST void recursive() { if (a) { std::lock_guard held(again); b = 1; } }
UNDER_TEST void shared() { if (a) { std::shared_lock held(both); c = b; } }
UNDER_TEST void exclusive() { if (a) { std::unique_lock held(both); b = 1; } }
UNDER_TEST void of_pthread() { if (a) { pthread_mutex_lock(&plain); b = 1; pthread_mutex_unlock(&plain); c = 1; } }
UNDER_TEST void spinning() { if (a) { pthread_spin_lock(&spin); b = 1; pthread_spin_unlock(&spin); } }
UNDER_TEST void reader() { if (a) { pthread_rwlock_rdlock(&readers); c = b; pthread_rwlock_unlock(&readers); b = 1; } }
UNDER_TEST void writer() { if (a) { pthread_rwlock_wrlock(&readers); b = 1; pthread_rwlock_unlock(&readers); } }
UNDER_TEST void released() { m.lock(); if (a) { m.unlock(); b = 1; m.lock(); c = 1; } m.unlock(); }
UNDER_TEST void tried() { if (m.try_lock()) { b = 1; m.unlock(); } }
UNDER_TEST void tries() { if (a) { b = 1; if (m.try_lock()) { c = 1; m.unlock(); } } }
UNDER_TEST void maybe_locked() { if (a) { b = 1; if (c) m.lock(); c = 1; if (b) m.unlock(); } }

int main() {
  pthread_spin_init(&spin, 0);
  SHOW(guard());
  SHOW(two_guards());
  SHOW(scoped());
  SHOW(unique());
  SHOW(unique_later());
  SHOW(recursive());
  SHOW(shared());
  SHOW(exclusive());
  SHOW(of_pthread());
  SHOW(spinning());
  SHOW(reader());
  SHOW(writer());
  SHOW(released());
  SHOW(tried());
  SHOW(tries());
  SHOW(maybe_locked());
}
