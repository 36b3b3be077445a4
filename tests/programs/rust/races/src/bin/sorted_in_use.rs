//! One thread sorts what another one is still writing to.
// expect: data-race (A) (B)
use races::Shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static ROWS: Shared<Vec<u64>> = Shared::new(Vec::new());
/// Orders nothing: it makes the two meet.
static BEGUN: AtomicBool = AtomicBool::new(false);

fn main() {
    unsafe { (*ROWS.get()).extend([3, 1, 2]) };
    let other = thread::spawn(|| {
        unsafe { (&mut *ROWS.get())[1] = 4 }; // (A)
        BEGUN.store(true, Ordering::Relaxed);
    });
    while !BEGUN.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    unsafe { (*ROWS.get()).sort() }; // (B)
    other.join().unwrap();
    println!("{}", unsafe { (*ROWS.get()).len() });
}
