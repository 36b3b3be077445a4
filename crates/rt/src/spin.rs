//! A lock that needs nothing but memory: it can be taken before the program has started, in any thread, and it never
//! calls a function that is intercepted.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a lock is tried before the processor is given to others.
const TRIES: u32 = 64;

/// Waits a little; the longer, the more often it was called with a growing number.
#[inline]
pub(crate) fn pause(tries: u32) {
    if tries % TRIES == TRIES - 1 {
        // SAFETY: sched_yield has no preconditions.
        unsafe { libc::sched_yield() };
    } else {
        std::hint::spin_loop();
    }
}

/// A value behind a lock.
#[derive(Debug, Default)]
pub(crate) struct Spin<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the lock only, by one thread at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    /// A value behind a lock that nobody holds.
    pub(crate) const fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the lock, unless it is held.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let free = self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Made only if it is free: a guard that is dropped unlocks.
        free.then(|| Guard(self))
    }

    /// Takes the lock.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let mut tries = 0;
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            // Who only looks does not take the line away from who holds the lock.
            while self.locked.load(Ordering::Relaxed) {
                pause(tries);
                tries = tries.wrapping_add(1);
            }
        }
    }
}

/// A value in lines of the processor of its own: whoever changes it does not hold up those who read what lies beside it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A lock that is held.
pub(crate) struct Guard<'a, T>(&'a Spin<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.locked.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_at_a_time() {
        let counter = Spin::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *counter.lock() += 1));
            }
        });
        assert_eq!(*counter.lock(), 40_000);
        let held = counter.lock();
        assert!(counter.try_lock().is_none());
        assert!(counter.try_lock().is_none(), "a try that failed leaves it locked");
        drop(held);
        assert!(counter.try_lock().is_some());
    }
}
