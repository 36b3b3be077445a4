//! A panic has poisoned the lock; whoever goes on must still look and act at once.
// expect: lock-gap (A) (B)
use std::sync::{Mutex, PoisonError};
use std::thread;

fn main() {
    let items = Mutex::new(vec![1]);
    thread::scope(|scope| {
        let panics = scope.spawn(|| {
            let _guard = items.lock().unwrap();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panics.join().is_err());
    });
    assert!(items.is_poisoned());
    programs::twice(|number| {
        let first = items.lock().unwrap_or_else(PoisonError::into_inner).first().copied(); // (A)
        if first == Some(1) {
            items.lock().unwrap_or_else(PoisonError::into_inner).push(number); // (B)
        }
    });
}
