//! A report calls it by the name that it was given.
// expect: lock-gap (A) (B) of the balance
use std::sync::Mutex;

fn main() {
    let balance = Mutex::new(0);
    keirin::name!(&*balance.lock().unwrap(), "the balance");
    programs::twice(|_| {
        let before = *balance.lock().unwrap(); // (A)
        *balance.lock().unwrap() = before + 1; // (B)
    });
}
