//! A thread is parked until another one has written.
use std::sync::Mutex;
use std::thread;

fn main() {
    let items = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let parked = scope.spawn(|| {
            thread::park();
            let count = items.lock().unwrap().len();
            items.lock().unwrap().push(count);
        });
        items.lock().unwrap().push(1);
        parked.thread().unpark();
    });
}
