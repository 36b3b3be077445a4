//! The first of a queue is looked at, then taken: perhaps it is another one.
// expect: lock-gap (A) (B)
use std::collections::VecDeque;
use std::sync::Mutex;

fn main() {
    let queue: Mutex<VecDeque<u32>> = Mutex::new((0..4).collect());
    programs::twice(|_| {
        let first = queue.lock().unwrap().front().copied(); // (A)
        if first.is_some() {
            queue.lock().unwrap().pop_front(); // (B)
        }
    });
}
