//! A cell that says of itself that it may be shared, and has no lock.
// expect: data-race (A) (A)
use races::Shared;
use std::thread;

#[inline(never)]
fn add(cell: &Shared<u32>) {
    unsafe { *cell.get() += 1 }; // (A)
}

fn main() {
    let cell = Shared::new(0);
    thread::scope(|scope| {
        // Both handles are kept: who drops the last reference to a thread that has ended comes after it.
        let threads = [(); 2].map(|()| scope.spawn(|| add(&cell)));
        for thread in threads {
            thread.join().unwrap();
        }
    });
    println!("{}", unsafe { *cell.get() });
}
