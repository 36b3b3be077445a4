//! A reader gives up the lock to become a writer.
// expect: lock-gap (A) (B)
use std::sync::RwLock;

fn main() {
    let largest = RwLock::new(0);
    programs::twice(|number| {
        let known = largest.read().unwrap();
        if *known < number + 1 { // (A)
            drop(known);
            *largest.write().unwrap() = number + 1; // (B)
        } else {
            drop(known);
            *largest.write().unwrap() = 100; // (B)
        }
    });
}
