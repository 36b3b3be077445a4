//! Two numbers that belong together, each under its own lock of parking_lot.
// Each of the two can come in between the other.
// expect: atomicity-violation (A) (B) (C)
// expect: atomicity-violation (A) (B) (C)
use parking_lot::Mutex;

fn main() {
    let (hits, total) = (Mutex::new(0), Mutex::new(0));
    keirin::together!(&*hits.lock(), &*total.lock());
    programs::twice(|number| {
        if number == 0 {
            *hits.lock() += 1; // (A)
            *total.lock() += 1; // (B)
        } else {
            assert!(*hits.lock() <= 1); // (C)
            assert!(*total.lock() <= 1); // (C)
        }
    });
}
