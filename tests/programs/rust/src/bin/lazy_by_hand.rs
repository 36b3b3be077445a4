//! Initialization on first use, by hand.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

fn main() {
    for _ in 0..2 {
        let slots = Mutex::new([None; 2]);
        programs::twice(|number| {
            if slots.lock().unwrap()[number].is_none() { // (A)
                slots.lock().unwrap()[number] = Some(number); // (B)
            }
        });
    }
}
