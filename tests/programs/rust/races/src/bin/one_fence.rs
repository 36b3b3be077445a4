//! Only the writer has a fence: the reader takes nothing over.
// expect: data-race (A) (B)
use races::Shared;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::thread;

static DATA: Shared<u64> = Shared::new(0);
static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let reader = thread::spawn(|| {
        while !READY.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        unsafe { DATA.get().read() } // (B)
    });
    unsafe { DATA.get().write(42) }; // (A)
    fence(Ordering::Release);
    READY.store(true, Ordering::Relaxed);
    println!("{}", reader.join().unwrap());
}
