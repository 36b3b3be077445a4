//! Who looks and acts has waited for all others.
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let items = Arc::new(Mutex::new(Vec::new()));
    let threads = [0, 1].map(|number| {
        let items = Arc::clone(&items);
        thread::spawn(move || items.lock().unwrap().push(number))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let count = items.lock().unwrap().len();
    items.lock().unwrap().push(count);
    thread::scope(|scope| {
        // Nobody joins them but the scope.
        scope.spawn(|| items.lock().unwrap().push(3));
        scope.spawn(|| items.lock().unwrap().push(4));
    });
    let count = items.lock().unwrap().len();
    items.lock().unwrap().push(count);
}
