//! Numbers are given out: each section adds one and reads what it has written. The next one does the same, and decides nothing by it.
use std::sync::Mutex;

fn next(last: &Mutex<u32>) -> u32 {
    let mut last = last.lock().unwrap();
    *last += 1;
    *last
}

fn main() {
    let last = Mutex::new(0);
    programs::twice(|_| {
        let (first, second) = (next(&last), next(&last));
        assert!(first < second);
        for _ in 0..3 {
            next(&last);
        }
    });
}
