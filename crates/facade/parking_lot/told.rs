//! What `Condvar` and `Once` of `parking_lot` tell. This file becomes a module of the program's own `parking_lot`. Its other locks
//! are those of `lock_api`, which tells them itself.

#![allow(dead_code)]

use crate::condvar::{Condvar, WaitTimeoutResult};
use crate::mutex::MutexGuard;
use crate::once::{Once, OnceState};
use crate::raw_mutex::RawMutex;
use std::time::Instant;

unsafe extern "C" {
    safe fn __keirin_rust_acquired(lock: usize, shared: usize);
    safe fn __keirin_rust_released(lock: usize, detail: usize);
    safe fn __keirin_rust_used(object: usize, written: usize, name: *const u8, length: usize);
    safe fn __keirin_rust_notified(condition: usize, all: usize);
    safe fn __keirin_rust_waited(condition: usize, detail: usize);
    safe fn __keirin_happens_before(token: usize);
    safe fn __keirin_happens_after(token: usize);
}

#[inline(always)]
fn address<T>(object: &T) -> usize {
    object as *const T as usize
}

#[inline(always)]
pub(crate) fn notified(condition: &Condvar, all: bool) {
    __keirin_rust_notified(address(condition), all as usize);
}

/// What a condition looks at is read, though it could be changed.
#[inline(always)]
pub(crate) fn looked_at<'a, T: ?Sized>(guard: &'a mut MutexGuard<'_, T>) -> &'a mut T {
    // SAFETY: the guard holds the lock, and is borrowed for as long.
    let object = unsafe { &mut *MutexGuard::mutex(guard).data_ptr() };
    let empty = size_of_val(object) == 0;
    let lock = MutexGuard::mutex(guard) as *const _ as *const () as usize;
    let place = if empty { lock } else { object as *const T as *const () as usize };
    let name = core::any::type_name::<T>();
    __keirin_rust_used(place, 0, name.as_ptr(), name.len());
    object
}

impl Condvar {
    /// The mutex is given up meanwhile.
    #[inline(always)]
    pub(crate) fn told_wait_until_internal(
        &self,
        mutex: &RawMutex,
        timeout: Option<Instant>,
    ) -> WaitTimeoutResult {
        __keirin_rust_released(address(mutex), 0);
        let result = self.wait_until_internal(mutex, timeout);
        __keirin_rust_acquired(address(mutex), 0);
        if !result.timed_out() {
            __keirin_rust_waited(address(self), 0);
        }
        result
    }
}

impl Once {
    /// Returns the current state of this `Once`.
    #[inline(always)]
    pub fn state(&self) -> OnceState {
        let state = self.original_state();
        if state.done() {
            __keirin_happens_after(address(self));
        }
        state
    }

    /// Performs an initialization routine once and only once.
    #[inline(always)]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.original_call_once(|| {
            f();
            __keirin_happens_before(address(self));
        });
        __keirin_happens_after(address(self));
    }

    /// Performs an initialization routine, also if an earlier one has panicked.
    #[inline(always)]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(OnceState),
    {
        self.original_call_once_force(|state| {
            f(state);
            __keirin_happens_before(address(self));
        });
        __keirin_happens_after(address(self));
    }
}
