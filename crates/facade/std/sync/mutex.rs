//! `Mutex`.

use super::{LockResult, TryLockError, TryLockResult, map_attempt, map_result};
use crate::tell::{self, Mode};
use real::fmt;
use real::mem::ManuallyDrop;
use real::ops::{Deref, DerefMut};
use real::sync as original;

/// `std::sync::Mutex`.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(original::Mutex<T>);

/// `std::sync::MutexGuard`.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    guard: ManuallyDrop<original::MutexGuard<'a, T>>,
    lock: usize,
}

impl<T> Mutex<T> {
    #[inline]
    pub const fn new(value: T) -> Self {
        Mutex(original::Mutex::new(value))
    }

    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline(always)]
    fn address(&self) -> usize {
        &raw const self.0 as *const () as usize
    }

    #[inline(always)]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let lock = self.address();
        let result = self.0.lock();
        tell::acquired(lock, Mode::Exclusive);
        map_result(result, |guard| MutexGuard::new(guard, lock))
    }

    #[inline(always)]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let lock = self.address();
        let result = self.0.try_lock();
        if !matches!(result, Err(TryLockError::WouldBlock)) {
            tell::acquired(lock, Mode::Exclusive);
        }
        map_attempt(result, |guard| MutexGuard::new(guard, lock))
    }

    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    pub fn clear_poison(&self) {
        self.0.clear_poison()
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline(always)]
    pub(super) fn new(guard: original::MutexGuard<'a, T>, lock: usize) -> Self {
        MutexGuard { guard: ManuallyDrop::new(guard), lock }
    }

    /// What the mutex guards, told as read.
    #[inline(always)]
    pub(super) fn looked_at(&mut self) -> &mut T {
        tell::read::<T>(&self.guard, self.lock);
        &mut self.guard
    }

    /// Tells that the lock is about to be released, by a wait; gives the real guard and the lock.
    #[inline(always)]
    pub(super) fn give_up(self) -> (original::MutexGuard<'a, T>, usize) {
        let mut own = ManuallyDrop::new(self);
        tell::released(own.lock);
        // SAFETY: `own` is not used any more and has no destructor.
        (unsafe { ManuallyDrop::take(&mut own.guard) }, own.lock)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        tell::released(self.lock);
        // SAFETY: it is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.guard) };
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        tell::read::<T>(&self.guard, self.lock);
        &self.guard
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        tell::written::<T>(&self.guard, self.lock);
        &mut self.guard
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
