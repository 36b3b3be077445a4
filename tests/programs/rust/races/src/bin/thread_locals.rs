//! Variables of threads, with and without destructors; their memory is used again by the next threads.
use races::in_all;
use std::cell::{Cell, RefCell};
use std::sync::Mutex;

static GONE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

struct Own(Vec<usize>);

impl Drop for Own {
    fn drop(&mut self) {
        GONE.lock().unwrap().push(self.0.len());
    }
}

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static OWN: RefCell<Own> = RefCell::new(Own(Vec::new()));
}

fn main() {
    for _ in 0..10 {
        in_all(|number| {
            for _ in 0..5 {
                COUNT.set(COUNT.get() + number);
                OWN.with_borrow_mut(|own| own.0.push(number));
            }
        });
    }
    println!("{}", GONE.lock().unwrap().iter().all(|length| *length == 5));
}
