//! A lock that is released by a relaxed store keeps threads apart, but orders nothing.
// expect: data-race (A) (A)
use races::Shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static HELD: AtomicBool = AtomicBool::new(false);
static VALUE: Shared<u64> = Shared::new(0);

#[inline(never)]
fn add() {
    while HELD.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        thread::yield_now();
    }
    unsafe { *VALUE.get() += 1 }; // (A)
    HELD.store(false, Ordering::Relaxed);
}

fn main() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    println!("{}", unsafe { *VALUE.get() });
}
