//! Workers take from a queue until it is empty.
use std::sync::Mutex;

fn main() {
    let queue: Mutex<Vec<u32>> = Mutex::new((0..100).collect());
    let done = Mutex::new(0);
    programs::twice(|_| {
        while let Some(item) = queue.lock().unwrap().pop() {
            *done.lock().unwrap() += item;
        }
    });
    assert_eq!(*done.lock().unwrap(), 4950);
}
