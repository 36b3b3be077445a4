//! The end of tasks that nobody waits for is told by a message: what follows comes after them.
use std::sync::{Mutex, mpsc};

static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn main() {
    let (done, all_done) = mpsc::channel();
    for number in 0..4 {
        let done = done.clone();
        rayon::spawn(move || {
            QUEUE.lock().unwrap().push(number);
            done.send(()).unwrap();
        });
    }
    drop(done);
    assert_eq!(all_done.iter().count(), 4);
    if QUEUE.lock().unwrap().len() == 4 {
        QUEUE.lock().unwrap().clear();
    }
}
