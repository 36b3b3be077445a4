//! An abort does not take away what was found.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

fn main() {
    let balance = Mutex::new(0);
    programs::twice(|_| {
        let before = *balance.lock().unwrap(); // (A)
        *balance.lock().unwrap() = before + 1; // (B)
    });
    std::process::abort();
}
