//! `Once` and `OnceLock`: who finds it done comes after who has done it.

use super::OnceState;
use crate::tell::{self, Unseen};
use real::fmt;
use real::panic::{RefUnwindSafe, UnwindSafe};
use real::sync as original;

/// `std::sync::Once`.
#[derive(Debug)]
pub struct Once(original::Once);

/// `std::sync::ONCE_INIT`.
#[deprecated(since = "1.38.0", note = "the `Once::new()` function is now preferred")]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    #[inline]
    pub const fn new() -> Self {
        Once(original::Once::new())
    }

    fn address(&self) -> usize {
        self as *const Self as usize
    }

    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.0.call_once(|| {
            f();
            tell::before(self.address());
        });
        tell::after(self.address());
    }

    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.0.call_once_force(|state| {
            f(state);
            tell::before(self.address());
        });
        tell::after(self.address());
    }

    pub fn is_completed(&self) -> bool {
        let completed = self.0.is_completed();
        if completed {
            tell::after(self.address());
        }
        completed
    }

    #[cfg(keirin_once_wait)]
    pub fn wait(&self) {
        self.0.wait();
        tell::after(self.address());
    }

    #[cfg(keirin_once_wait)]
    pub fn wait_force(&self) {
        self.0.wait_force();
        tell::after(self.address());
    }
}

/// `std::sync::OnceLock`.
pub struct OnceLock<T>(original::OnceLock<T>);

impl<T> OnceLock<T> {
    #[inline]
    pub const fn new() -> Self {
        OnceLock(original::OnceLock::new())
    }

    fn address(&self) -> usize {
        self as *const Self as usize
    }

    #[inline]
    pub fn get(&self) -> Option<&T> {
        let value = self.0.get();
        if value.is_some() {
            tell::after(self.address());
        }
        value
    }

    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.get_mut()
    }

    #[cfg(keirin_once_wait)]
    pub fn wait(&self) -> &T {
        let value = self.0.wait();
        tell::after(self.address());
        value
    }

    pub fn set(&self, value: T) -> Result<(), T> {
        tell::before(self.address());
        let unseen = Unseen::begin();
        let result = self.0.set(value);
        drop(unseen);
        tell::after(self.address());
        result
    }

    #[inline]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        // The value is put in place after that is told.
        let mut unseen = None;
        let value = self.0.get_or_init(|| {
            let value = f();
            tell::before(self.address());
            unseen = Some(Unseen::begin());
            value
        });
        drop(unseen);
        tell::after(self.address());
        value
    }

    pub fn into_inner(self) -> Option<T> {
        self.0.into_inner()
    }

    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        OnceLock(self.0.clone())
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        OnceLock(original::OnceLock::from(value))
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
