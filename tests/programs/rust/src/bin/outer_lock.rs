//! Two critical sections of one lock within one of another, which all take.
use std::sync::Mutex;

fn main() {
    let (outer, inner) = (Mutex::new(()), Mutex::new(0));
    programs::twice(|_| {
        let _outer = outer.lock().unwrap();
        let before = *inner.lock().unwrap();
        *inner.lock().unwrap() = before + 1;
    });
    assert_eq!(*inner.lock().unwrap(), 2);
}
