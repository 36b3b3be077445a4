//! The message is sent before the work is done: it orders nothing of it.
// expect: lock-gap (A) (B)
use crossbeam::channel::unbounded;
use std::sync::Mutex;

fn add(number: &Mutex<u32>) {
    let before = *number.lock().unwrap(); // (A)
    *number.lock().unwrap() = before + 1; // (B)
}

fn main() {
    let number = Mutex::new(0);
    let (sender, receiver) = unbounded();
    programs::twice(|thread| {
        if thread == 0 {
            sender.send(()).unwrap();
        } else {
            receiver.recv().unwrap();
        }
        add(&number);
    });
}
