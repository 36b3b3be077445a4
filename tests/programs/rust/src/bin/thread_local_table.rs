//! Each thread has a table of its own.
use std::cell::RefCell;
use std::sync::Mutex;

thread_local! {
    static OWN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static LOCKED: Mutex<Vec<usize>> = const { Mutex::new(Vec::new()) };
}

fn main() {
    programs::twice(|number| {
        OWN.with_borrow_mut(|own| own.push(number));
        LOCKED.with(|locked| {
            let count = locked.lock().unwrap().len();
            locked.lock().unwrap().push(count);
        });
        assert_eq!(OWN.with_borrow(Vec::len), 1);
    });
}
