//! `RwLock`.

use super::{LockResult, TryLockError, TryLockResult, map_attempt, map_result};
use crate::tell::{self, Mode};
use real::fmt;
use real::mem::ManuallyDrop;
use real::ops::{Deref, DerefMut};
use real::sync as original;

/// `std::sync::RwLock`.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(original::RwLock<T>);

/// `std::sync::RwLockReadGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    guard: ManuallyDrop<original::RwLockReadGuard<'a, T>>,
    lock: usize,
}

/// `std::sync::RwLockWriteGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    guard: ManuallyDrop<original::RwLockWriteGuard<'a, T>>,
    lock: usize,
}

impl<T> RwLock<T> {
    #[inline]
    pub const fn new(value: T) -> Self {
        RwLock(original::RwLock::new(value))
    }

    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline(always)]
    fn address(&self) -> usize {
        &raw const self.0 as *const () as usize
    }

    #[inline(always)]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let lock = self.address();
        let result = self.0.read();
        tell::acquired(lock, Mode::Shared);
        map_result(result, |guard| RwLockReadGuard::new(guard, lock))
    }

    #[inline(always)]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let lock = self.address();
        let result = self.0.write();
        tell::acquired(lock, Mode::Exclusive);
        map_result(result, |guard| RwLockWriteGuard::new(guard, lock))
    }

    #[inline(always)]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let lock = self.address();
        let result = self.0.try_read();
        if !matches!(result, Err(TryLockError::WouldBlock)) {
            tell::acquired(lock, Mode::Shared);
        }
        map_attempt(result, |guard| RwLockReadGuard::new(guard, lock))
    }

    #[inline(always)]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let lock = self.address();
        let result = self.0.try_write();
        if !matches!(result, Err(TryLockError::WouldBlock)) {
            tell::acquired(lock, Mode::Exclusive);
        }
        map_attempt(result, |guard| RwLockWriteGuard::new(guard, lock))
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

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! guard {
    ($guard:ident) => {
        impl<'a, T: ?Sized> $guard<'a, T> {
            #[inline(always)]
            fn new(guard: original::$guard<'a, T>, lock: usize) -> Self {
                $guard { guard: ManuallyDrop::new(guard), lock }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[inline(always)]
            fn drop(&mut self) {
                tell::released(self.lock);
                // SAFETY: it is not used any more.
                unsafe { ManuallyDrop::drop(&mut self.guard) };
            }
        }

        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline(always)]
            fn deref(&self) -> &T {
                tell::read::<T>(&self.guard, self.lock);
                &self.guard
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

guard!(RwLockReadGuard);
guard!(RwLockWriteGuard);

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        tell::written::<T>(&self.guard, self.lock);
        &mut self.guard
    }
}

#[cfg(keirin_rwlock_downgrade)]
impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The lock is not let go: who was a writer is told as a reader from here on.
    #[inline(always)]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let mut own = ManuallyDrop::new(guard);
        let lock = own.lock;
        tell::becomes_reader(lock);
        // SAFETY: `own` is not used any more and has no destructor.
        let guard = unsafe { ManuallyDrop::take(&mut own.guard) };
        RwLockReadGuard::new(original::RwLockWriteGuard::downgrade(guard), lock)
    }
}
