//! A writer stays in the lock as a reader; who writes then has looked in the same critical section.
use std::sync::{RwLock, RwLockWriteGuard};

fn main() {
    let value = RwLock::new(0);
    programs::twice(|_| {
        let mut guard = value.write().unwrap();
        *guard += 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert!(*guard > 0);
    });
    assert_eq!(*value.read().unwrap(), 2);
}
