//! The end of the process is the program's own, and what was found until then is told.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

fn main() {
    let balance = Mutex::new(0);
    programs::twice(|_| {
        let before = *balance.lock().unwrap(); // (A)
        *balance.lock().unwrap() = before + 1; // (B)
    });
    std::process::exit(3);
}
