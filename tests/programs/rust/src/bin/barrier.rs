//! One thread writes before the barrier, the other looks and acts behind it.
use std::sync::{Barrier, Mutex};

fn main() {
    let (items, barrier) = (Mutex::new(Vec::new()), Barrier::new(2));
    programs::twice(|number| {
        if number == 0 {
            items.lock().unwrap().push(1);
        }
        barrier.wait();
        if number == 1 {
            let count = items.lock().unwrap().len();
            items.lock().unwrap().push(count);
        }
    });
}
