//! A function that is marked as atomic, and is not.
// expect: atomicity-violation (A) (B)
use std::sync::Mutex;

#[keirin::atomic]
fn add(items: &Mutex<Vec<usize>>) {
    let count = items.lock().unwrap().len(); // (A)
    items.lock().unwrap().push(count); // (B)
}

fn main() {
    let items = Mutex::new(Vec::new());
    programs::twice(|_| add(&items));
}
