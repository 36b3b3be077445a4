//! A writer stays in the lock as a reader; who writes then has looked in the same critical section. It does so again and again: each section
//! begins with the same write, whatever the one before has read as a reader.
use std::sync::{RwLock, RwLockWriteGuard};

/// One piece of code, which an optimizer does not repeat: it is the same write that each section begins with.
#[inline(never)]
fn add(value: &RwLock<u32>) {
    let mut guard = value.write().unwrap();
    *guard += 1;
    let guard = RwLockWriteGuard::downgrade(guard);
    assert!(*guard > 0);
}

fn main() {
    let value = RwLock::new(0);
    programs::twice(|_| (0..5).for_each(|_| add(&value)));
    assert_eq!(*value.read().unwrap(), 10);
}
