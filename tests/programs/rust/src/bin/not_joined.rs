//! Who looks and acts has not waited yet.
// expect: lock-gap (A) (B) (C)
use std::sync::Mutex;
use std::thread;

fn main() {
    let items = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let other = scope.spawn(|| items.lock().unwrap().push(1)); // (C)
        let count = items.lock().unwrap().len(); // (A)
        items.lock().unwrap().push(count); // (B)
        other.join().unwrap();
    });
}
