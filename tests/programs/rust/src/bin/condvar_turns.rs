//! Two threads take turns: each waits until it is its own.
use std::sync::{Condvar, Mutex};

fn main() {
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    programs::twice(|number| {
        for round in 0..10 {
            let guard = turn.lock().unwrap();
            let mut guard = changed.wait_while(guard, |turn| *turn != round * 2 + number).unwrap();
            *guard += 1;
            drop(guard);
            changed.notify_all();
        }
    });
    assert_eq!(*turn.lock().unwrap(), 20);
}
