//! A pointer is sent to a thread, and used by both.
// expect: data-race (A) (B)
use std::thread;

struct SendPointer(*mut u64);

// SAFETY: that is the mistake.
unsafe impl Send for SendPointer {}

impl SendPointer {
    fn write(&self) {
        unsafe { self.0.write(7) }; // (A)
    }
}

fn main() {
    let memory = Box::into_raw(Box::new(0u64));
    let pointer = SendPointer(memory);
    let other = thread::spawn(move || pointer.write());
    let seen = unsafe { memory.read_volatile() }; // (B)
    other.join().unwrap();
    println!("{}", seen <= 7);
    drop(unsafe { Box::from_raw(memory) });
}
