//! A thread is parked until what it needs is there.
use races::Shared;
use std::thread;

fn main() {
    static DATA: [Shared<u64>; 10] = [const { Shared::new(0) }; 10];
    let parked = thread::spawn(|| {
        let mut sum = 0;
        for data in &DATA {
            thread::park();
            sum += unsafe { data.get().read() };
        }
        sum
    });
    unsafe { DATA[0].get().write(1) };
    for data in &DATA {
        unsafe { data.get().write(2) };
    }
    while !parked.is_finished() {
        parked.thread().unpark();
        thread::yield_now();
    }
    println!("{}", parked.join().unwrap());
}
