//! A task of a scope looks at a list and cuts it, while another one may add to it.
// expect: lock-gap (A) (B) (C)
use std::sync::Mutex;

fn main() {
    let list = Mutex::new(vec![0]);
    rayon::scope(|scope| {
        scope.spawn(|scope| {
            scope.spawn(|_| list.lock().unwrap().push(1)); // (C)
        });
        scope.spawn(|_| {
            let length = list.lock().unwrap().len(); // (A)
            list.lock().unwrap().truncate(length - 1); // (B)
        });
    });
}
