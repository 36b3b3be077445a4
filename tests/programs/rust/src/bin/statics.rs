//! A table that lives as long as the program.
// expect: lock-gap (A) (B)
use std::sync::Mutex;
use std::thread;

static TABLE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn add(number: usize) {
    let place = TABLE.lock().unwrap().len(); // (A)
    TABLE.lock().unwrap().push(place + number); // (B)
}

fn main() {
    let threads = [0, 1].map(|number| thread::spawn(move || add(number)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
