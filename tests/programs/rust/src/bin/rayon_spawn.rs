//! A task that nobody waits for writes what another one looks at and acts upon.
// expect: lock-gap (A) (B) (C)
use std::sync::{Mutex, mpsc};

static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn main() {
    let (done, all_done) = mpsc::channel();
    let also_done = done.clone();
    rayon::spawn(move || {
        QUEUE.lock().unwrap().push(1); // (C)
        done.send(()).unwrap();
    });
    rayon::spawn(move || {
        if QUEUE.lock().unwrap().is_empty() { // (A)
            QUEUE.lock().unwrap().push(2); // (B)
        } else {
            QUEUE.lock().unwrap().clear(); // (B)
        }
        also_done.send(()).unwrap();
    });
    assert_eq!(all_done.iter().count(), 2);
}
