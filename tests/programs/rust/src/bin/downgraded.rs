//! A writer stays in the lock as a reader; who writes then has looked in the same critical section. It does so again and again: each section
//! begins with the same write, whatever the one before has read as a reader.
use std::sync::{RwLock, RwLockWriteGuard};

fn main() {
    let value = RwLock::new(0);
    programs::twice(|_| {
        for _ in 0..5 {
            let mut guard = value.write().unwrap();
            *guard += 1;
            let guard = RwLockWriteGuard::downgrade(guard);
            assert!(*guard > 0);
        }
    });
    assert_eq!(*value.read().unwrap(), 10);
}
