//! A reader gives up the lock to become a writer, and looks again.
use std::sync::RwLock;

fn main() {
    let largest = RwLock::new(0);
    programs::twice(|number| {
        if *largest.read().unwrap() < number {
            let mut largest = largest.write().unwrap();
            if *largest < number {
                *largest = number;
            }
        }
    });
}
