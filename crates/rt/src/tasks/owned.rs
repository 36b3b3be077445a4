//! What belongs to one thread at a time, of the tasks that all know.
//!
//! **Who may touch what.** `keirin_core::tasks` says to whom each part of a task or scope belongs: to the thread that runs the task, then
//! to the one that closes the scope, and some to who holds a lock. It goes from one to the next through what the library for tasks does
//! to hand tasks over, and through the numbers of tasks that go on. In a debug build it is checked that nobody else is there.

use keirin_core::tasks::{Keeping, Kept};
use std::cell::UnsafeCell;
use std::fmt::{self, Debug, Formatter};
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything is kept by those to whom it belongs.
#[derive(Debug, Default)]
pub(super) struct ByOwners;

impl Keeping for ByOwners {
    const ALONE: bool = false;

    type Of<T: Debug + Default> = Owned<T>;
}

/// A value that its owner alone touches.
#[derive(Default)]
pub(super) struct Owned<T> {
    #[cfg(debug_assertions)]
    busy: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `keirin_core::tasks` lets one thread at a time touch it, as said above.
unsafe impl<T: Send> Sync for Owned<T> {}

impl<T> Debug for Owned<T> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("Owned")
    }
}

impl<T: Debug + Default> Kept<T> for Owned<T> {
    #[inline(always)]
    fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(debug_assertions)]
        assert!(!self.busy.swap(true, Ordering::Acquire), "two threads touch what belongs to one");
        // SAFETY: nobody else touches it.
        let result = act(unsafe { &mut *self.value.get() });
        #[cfg(debug_assertions)]
        self.busy.store(false, Ordering::Release);
        result
    }

    fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}
