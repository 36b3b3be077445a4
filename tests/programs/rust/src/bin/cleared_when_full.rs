//! A section adds and asks how many there are; another one clears them by what was said, when there may be more.
// expect: lock-gap (A) (B)
use std::sync::Mutex;

fn add(items: &Mutex<Vec<usize>>, item: usize) -> usize {
    let mut items = items.lock().unwrap();
    items.push(item); // (B)
    items.len() // (A)
}

fn main() {
    let items = Mutex::new(Vec::new());
    programs::twice(|item| {
        if add(&items, item) > 0 {
            items.lock().unwrap().clear(); // (B)
        }
    });
}
