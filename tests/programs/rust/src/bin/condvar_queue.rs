//! A queue with a condition: who waits looks at it and takes in one critical section, which the wait interrupts.
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

fn main() {
    let queue = Mutex::new(VecDeque::new());
    let filled = Condvar::new();
    programs::twice(|number| {
        if number == 0 {
            for item in 0..20 {
                queue.lock().unwrap().push_back(item);
                filled.notify_one();
            }
        } else {
            for item in 0..20 {
                let mut queue = queue.lock().unwrap();
                while queue.is_empty() {
                    queue = filled.wait(queue).unwrap();
                }
                assert_eq!(queue.pop_front(), Some(item));
                drop(queue);
            }
        }
    });
}
