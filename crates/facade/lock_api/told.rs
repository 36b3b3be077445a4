//! What the locks of `lock_api` tell. This file becomes a module of the program's own `lock_api`, whose calls of raw locks go through
//! the functions below, and whose guards tell what is done to the object that they guard.
//!
//! A lock is known by the address of its raw lock. A lock that can be read and written tells two: the lock itself, and its *turn*, at the
//! next byte, which all have who write, or may come to write. Who goes over from one way of holding the lock to the other keeps the
//! turn meanwhile: so it is told that nobody writes in between. The turn is taken before the lock and given back after it.
//!
//! Functions are inlined always: the place that is told is then that of the program.

#![allow(dead_code, missing_docs, unused_imports)]

use crate::{
    RawMutex, RawMutexFair, RawMutexTimed, RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockRecursive,
    RawRwLockRecursiveTimed, RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair,
    RawRwLockUpgradeTimed,
};

unsafe extern "C" {
    safe fn __keirin_rust_acquired(lock: usize, shared: usize);
    safe fn __keirin_rust_released(lock: usize, detail: usize);
    safe fn __keirin_rust_changed(lock: usize, shared: usize);
    safe fn __keirin_rust_used(object: usize, written: usize, name: *const u8, length: usize);
}

#[inline(always)]
fn address<L>(lock: &L) -> usize {
    lock as *const L as usize
}

/// How a lock is held.
#[derive(Clone, Copy)]
enum Mode {
    Exclusive,
    Shared,
    /// As a reader who has the turn.
    Upgradable,
}

#[inline(always)]
fn take_turn<L>(lock: &L) {
    if size_of::<L>() > 1 {
        __keirin_rust_acquired(address(lock) + 1, 0);
    }
}

#[inline(always)]
fn give_turn<L>(lock: &L) {
    if size_of::<L>() > 1 {
        __keirin_rust_released(address(lock) + 1, 0);
    }
}

/// A mutex was acquired.
#[inline(always)]
fn locked<L>(lock: &L) {
    __keirin_rust_acquired(address(lock), 0);
}

/// A mutex is about to be released.
#[inline(always)]
fn unlocking<L>(lock: &L) {
    __keirin_rust_released(address(lock), 0);
}

/// A lock for readers and writers was acquired.
#[inline(always)]
fn acquired<L>(lock: &L, mode: Mode) {
    if !matches!(mode, Mode::Shared) {
        take_turn(lock);
    }
    __keirin_rust_acquired(address(lock), !matches!(mode, Mode::Exclusive) as usize);
}

/// A lock for readers and writers is about to be released.
#[inline(always)]
fn releasing<L>(lock: &L, mode: Mode) {
    __keirin_rust_released(address(lock), 0);
    if !matches!(mode, Mode::Shared) {
        give_turn(lock);
    }
}

/// Who has the turn holds the lock in another way from now on.
#[inline(always)]
fn changed<L>(lock: &L, to: Mode) {
    __keirin_rust_changed(address(lock), !matches!(to, Mode::Exclusive) as usize);
    if matches!(to, Mode::Shared) {
        give_turn(lock);
    }
}

#[inline(always)]
fn used<T: ?Sized, L>(object: &T, lock: &L, written: usize) {
    // An object without a size has no address of its own: then it is the lock.
    let empty = size_of_val(object) == 0;
    let place = if empty { address(lock) } else { object as *const T as *const () as usize };
    let name = core::any::type_name::<T>();
    __keirin_rust_used(place, written, name.as_ptr(), name.len());
}

/// What a guard guards is read.
#[inline(always)]
pub(crate) fn read<'a, T: ?Sized, L>(object: &'a T, lock: &L) -> &'a T {
    used(object, lock, 0);
    object
}

/// What a guard guards can be changed.
#[inline(always)]
pub(crate) fn written<'a, T: ?Sized, L>(object: &'a mut T, lock: &L) -> &'a mut T {
    used(object, lock, 1);
    object
}

/// Defines for each method of a trait of raw locks another one, of the same name with `told_` before it, that tells what it does.
macro_rules! told {
    ($told:ident: $raw:ident { $($kind:ident $method:ident as $named:ident($($mode:ident)?);)* }) => {
        pub(crate) trait $told: $raw {
            $(told!(@$kind $method $named $($mode)?);)*
        }

        impl<R: $raw> $told for R {}
    };
    (@lock $method:ident $named:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self) where Self: Sized {
            self.$method();
            locked(self);
        }
    };
    (@try_lock $method:ident $named:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self) -> bool where Self: Sized {
            let success = self.$method();
            if success {
                locked(self);
            }
            success
        }
    };
    (@try_lock_for $method:ident $named:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self, timeout: Self::Duration) -> bool where Self: Sized {
            let success = self.$method(timeout);
            if success {
                locked(self);
            }
            success
        }
    };
    (@try_lock_until $method:ident $named:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self, timeout: Self::Instant) -> bool where Self: Sized {
            let success = self.$method(timeout);
            if success {
                locked(self);
            }
            success
        }
    };
    (@unlock $method:ident $named:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) where Self: Sized {
            unlocking(self);
            // SAFETY: by the contract of this function.
            unsafe { self.$method() };
        }
    };
    (@lend $method:ident $named:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) where Self: Sized {
            unlocking(self);
            // SAFETY: by the contract of this function.
            unsafe { self.$method() };
            locked(self);
        }
    };
    (@acquire $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self) where Self: Sized {
            self.$method();
            acquired(self, Mode::$mode);
        }
    };
    (@try_acquire $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self) -> bool where Self: Sized {
            let success = self.$method();
            if success {
                acquired(self, Mode::$mode);
            }
            success
        }
    };
    (@try_acquire_for $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self, timeout: Self::Duration) -> bool where Self: Sized {
            let success = self.$method(timeout);
            if success {
                acquired(self, Mode::$mode);
            }
            success
        }
    };
    (@try_acquire_until $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        fn $named(&self, timeout: Self::Instant) -> bool where Self: Sized {
            let success = self.$method(timeout);
            if success {
                acquired(self, Mode::$mode);
            }
            success
        }
    };
    (@release $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) where Self: Sized {
            releasing(self, Mode::$mode);
            // SAFETY: by the contract of this function.
            unsafe { self.$method() };
        }
    };
    (@give_way $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) where Self: Sized {
            releasing(self, Mode::$mode);
            // SAFETY: by the contract of this function.
            unsafe { self.$method() };
            acquired(self, Mode::$mode);
        }
    };
    // Who becomes a writer is one when it was done.
    (@raise $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) where Self: Sized {
            // SAFETY: by the contract of this function.
            unsafe { self.$method() };
            changed(self, Mode::$mode);
        }
    };
    (@try_raise $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) -> bool where Self: Sized {
            // SAFETY: by the contract of this function.
            let success = unsafe { self.$method() };
            if success {
                changed(self, Mode::$mode);
            }
            success
        }
    };
    (@try_raise_for $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self, timeout: Self::Duration) -> bool where Self: Sized {
            // SAFETY: by the contract of this function.
            let success = unsafe { self.$method(timeout) };
            if success {
                changed(self, Mode::$mode);
            }
            success
        }
    };
    (@try_raise_until $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self, timeout: Self::Instant) -> bool where Self: Sized {
            // SAFETY: by the contract of this function.
            let success = unsafe { self.$method(timeout) };
            if success {
                changed(self, Mode::$mode);
            }
            success
        }
    };
    // Who stops being one is none before others can come in.
    (@lower $method:ident $named:ident $mode:ident) => {
        #[inline(always)]
        #[track_caller]
        unsafe fn $named(&self) where Self: Sized {
            changed(self, Mode::$mode);
            // SAFETY: by the contract of this function.
            unsafe { self.$method() };
        }
    };
}

told!(ToldMutex: RawMutex {
    lock lock as told_lock();
    try_lock try_lock as told_try_lock();
    unlock unlock as told_unlock();
});

told!(ToldMutexFair: RawMutexFair {
    unlock unlock_fair as told_unlock_fair();
    lend bump as told_bump();
});

told!(ToldMutexTimed: RawMutexTimed {
    try_lock_for try_lock_for as told_try_lock_for();
    try_lock_until try_lock_until as told_try_lock_until();
});

told!(ToldRwLock: RawRwLock {
    acquire lock_shared as told_lock_shared(Shared);
    try_acquire try_lock_shared as told_try_lock_shared(Shared);
    release unlock_shared as told_unlock_shared(Shared);
    acquire lock_exclusive as told_lock_exclusive(Exclusive);
    try_acquire try_lock_exclusive as told_try_lock_exclusive(Exclusive);
    release unlock_exclusive as told_unlock_exclusive(Exclusive);
});

told!(ToldRwLockFair: RawRwLockFair {
    release unlock_shared_fair as told_unlock_shared_fair(Shared);
    release unlock_exclusive_fair as told_unlock_exclusive_fair(Exclusive);
    give_way bump_shared as told_bump_shared(Shared);
    give_way bump_exclusive as told_bump_exclusive(Exclusive);
});

told!(ToldRwLockDowngrade: RawRwLockDowngrade {
    lower downgrade as told_downgrade(Shared);
});

told!(ToldRwLockTimed: RawRwLockTimed {
    try_acquire_for try_lock_shared_for as told_try_lock_shared_for(Shared);
    try_acquire_until try_lock_shared_until as told_try_lock_shared_until(Shared);
    try_acquire_for try_lock_exclusive_for as told_try_lock_exclusive_for(Exclusive);
    try_acquire_until try_lock_exclusive_until as told_try_lock_exclusive_until(Exclusive);
});

told!(ToldRwLockRecursive: RawRwLockRecursive {
    acquire lock_shared_recursive as told_lock_shared_recursive(Shared);
    try_acquire try_lock_shared_recursive as told_try_lock_shared_recursive(Shared);
});

told!(ToldRwLockRecursiveTimed: RawRwLockRecursiveTimed {
    try_acquire_for try_lock_shared_recursive_for as told_try_lock_shared_recursive_for(Shared);
    try_acquire_until try_lock_shared_recursive_until as told_try_lock_shared_recursive_until(Shared);
});

told!(ToldRwLockUpgrade: RawRwLockUpgrade {
    acquire lock_upgradable as told_lock_upgradable(Upgradable);
    try_acquire try_lock_upgradable as told_try_lock_upgradable(Upgradable);
    release unlock_upgradable as told_unlock_upgradable(Upgradable);
    raise upgrade as told_upgrade(Exclusive);
    try_raise try_upgrade as told_try_upgrade(Exclusive);
});

told!(ToldRwLockUpgradeFair: RawRwLockUpgradeFair {
    release unlock_upgradable_fair as told_unlock_upgradable_fair(Upgradable);
    give_way bump_upgradable as told_bump_upgradable(Upgradable);
});

told!(ToldRwLockUpgradeDowngrade: RawRwLockUpgradeDowngrade {
    lower downgrade_upgradable as told_downgrade_upgradable(Shared);
    lower downgrade_to_upgradable as told_downgrade_to_upgradable(Upgradable);
});

told!(ToldRwLockUpgradeTimed: RawRwLockUpgradeTimed {
    try_acquire_for try_lock_upgradable_for as told_try_lock_upgradable_for(Upgradable);
    try_acquire_until try_lock_upgradable_until as told_try_lock_upgradable_until(Upgradable);
    try_raise_for try_upgrade_for as told_try_upgrade_for(Exclusive);
    try_raise_until try_upgrade_until as told_try_upgrade_until(Exclusive);
});
