//! Locks that are tried for count once they are got.
// expect: lock-gap (A) (B)
use std::sync::{Mutex, MutexGuard};

fn get<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        if let Ok(guard) = mutex.try_lock() {
            return guard;
        }
        std::thread::yield_now();
    }
}

fn main() {
    let total = Mutex::new(0);
    programs::twice(|_| {
        let before = *get(&total); // (A)
        *get(&total) = before + 1; // (B)
    });
}
