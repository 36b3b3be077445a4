//! A sequence lock whose data is plain: the reader reads while the writer may write, and finds out too late.
// expect: data-race (A) (B)
use races::Shared;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::thread;

static SEQUENCE: AtomicUsize = AtomicUsize::new(0);
static DATA: Shared<u64> = Shared::new(0);
/// Orders nothing: it makes the two meet.
static LOOKED: AtomicBool = AtomicBool::new(false);

fn main() {
    let reader = thread::spawn(|| {
        loop {
            let before = SEQUENCE.load(Ordering::Acquire);
            let value = unsafe { DATA.get().read_volatile() }; // (B)
            LOOKED.store(true, Ordering::Relaxed);
            fence(Ordering::Acquire);
            if before % 2 == 0 && SEQUENCE.load(Ordering::Relaxed) == before {
                return value;
            }
        }
    });
    while !LOOKED.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    SEQUENCE.store(1, Ordering::Relaxed);
    fence(Ordering::Release);
    unsafe { DATA.get().write_volatile(7) }; // (A)
    SEQUENCE.store(2, Ordering::Release);
    println!("{}", reader.join().unwrap() <= 7);
}
