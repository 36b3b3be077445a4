//! Both sides of a join read and write back: whoever runs them, also one worker one after the other.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

fn add(balance: &Mutex<u32>, amount: u32) {
    let before = *balance.lock().unwrap(); // (A)
    *balance.lock().unwrap() = before + amount; // (B)
}

fn main() {
    let balance = Mutex::new(0);
    rayon::join(|| add(&balance, 1), || add(&balance, 2));
}
