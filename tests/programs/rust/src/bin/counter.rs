//! A statistic: it is added to, and nobody decides by it.
use std::sync::Mutex;

fn main() {
    let hits = Mutex::new(0);
    programs::twice(|_| {
        for _ in 0..10 {
            *hits.lock().unwrap() += 1;
        }
    });
    assert_eq!(*hits.lock().unwrap(), 20);
}
