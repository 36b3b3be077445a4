//! The flag publishes the data.
use races::Shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static DATA: Shared<u64> = Shared::new(0);
static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let reader = thread::spawn(|| {
        while !READY.load(Ordering::Acquire) {
            thread::yield_now();
        }
        unsafe { DATA.get().read() }
    });
    unsafe { DATA.get().write(42) };
    READY.store(true, Ordering::Release);
    println!("{}", reader.join().unwrap());
}
