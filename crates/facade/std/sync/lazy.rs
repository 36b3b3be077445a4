//! `LazyLock`, made of a real one: its initializer tells that it is done.
//!
//! The type of the initializer is a parameter of the real type, and a wrapped one could not be called. So the initializer is
//! kept beside a cell that is filled once, as the real type does.

use real::cell::Cell;
use real::fmt;
use real::ops::Deref;
use real::panic::{RefUnwindSafe, UnwindSafe};

/// `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    value: super::OnceLock<T>,
    initializer: Cell<Option<F>>,
}

// SAFETY: the initializer is taken by the one thread that fills the cell, and by nobody else.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    #[inline]
    pub const fn new(f: F) -> Self {
        LazyLock { value: super::OnceLock::new(), initializer: Cell::new(Some(f)) }
    }

    #[inline]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init(|| match this.initializer.take() {
            Some(f) => f(),
            None => panic!("LazyLock instance has previously been poisoned"),
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}
