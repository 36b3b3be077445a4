//! A reader of parking_lot gives up the lock to become a writer.
// expect: lock-gap (A) (B)
use parking_lot::RwLock;

fn main() {
    let largest = RwLock::new(0);
    programs::twice(|number| {
        let known = largest.read();
        let is_less = *known < number; // (A)
        drop(known);
        *largest.write() = if is_less { number } else { 100 }; // (B)
    });
}
