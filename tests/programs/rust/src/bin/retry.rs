//! Computed outside, and entered only if nothing has changed.
use std::sync::Mutex;

fn main() {
    let value = Mutex::new(1);
    programs::twice(|number| {
        loop {
            let before = *value.lock().unwrap();
            let next = before * 3 + number;
            let mut value = value.lock().unwrap();
            if *value == before {
                *value = next;
                break;
            }
        }
    });
}
