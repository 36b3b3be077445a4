//! A counter that nothing protects.
// expect: data-race (A) (B)
use std::thread;

static mut COUNT: u64 = 0;

fn main() {
    let other = thread::spawn(|| unsafe { COUNT += 1 }); // (A)
    unsafe { COUNT += 1 }; // (B)
    other.join().unwrap();
    println!("{}", unsafe { COUNT });
}
