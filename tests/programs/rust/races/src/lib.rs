//! What the programs share.

use std::cell::UnsafeCell;
use std::thread;

/// How many threads take part: 2, or as many as the environment says.
pub fn threads() -> usize {
    std::env::var("THREADS").ok().and_then(|number| number.parse().ok()).unwrap_or(2)
}

/// Runs something in all threads at once, with their numbers.
pub fn in_all(act: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads() {
            let act = &act;
            scope.spawn(move || act(number));
        }
    });
}

/// Something that all may use, though nothing keeps them apart.
#[derive(Default)]
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: it is not: the programs show what comes of it.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: the same.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    pub const fn new(value: T) -> Self {
        Shared(UnsafeCell::new(value))
    }

    /// Where it is.
    #[inline]
    pub fn get(&self) -> *mut T {
        self.0.get()
    }
}
