//! Fences publish the data by a relaxed flag.
use races::Shared;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;

static DATA: [Shared<u64>; 4] = [const { Shared::new(0) }; 4];
static ROUND: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let reader = thread::spawn(|| {
        let mut sum = 0;
        for (round, data) in DATA.iter().enumerate() {
            while ROUND.load(Ordering::Relaxed) <= round {
                thread::yield_now();
            }
            fence(Ordering::Acquire);
            sum += unsafe { data.get().read() };
        }
        sum
    });
    for (round, data) in DATA.iter().enumerate() {
        unsafe { data.get().write(round as u64) };
        fence(Ordering::Release);
        ROUND.store(round + 1, Ordering::Relaxed);
    }
    println!("{}", reader.join().unwrap());
}
