//! Two objects with a lock each that must be seen together.
// Each of the two can come in between the other.
// expect: atomicity-violation (A) (B) (C)
// expect: atomicity-violation (A) (B) (C)
use std::sync::Mutex;

fn main() {
    let (from, to) = (Mutex::new(10), Mutex::new(0));
    keirin::together!(&*from.lock().unwrap(), &*to.lock().unwrap());
    programs::twice(|number| {
        if number == 0 {
            keirin::atomically!("transfer", {
                *from.lock().unwrap() -= 1; // (A)
                *to.lock().unwrap() += 1; // (B)
            });
        } else {
            keirin::atomically!("audit", {
                let rest = *from.lock().unwrap(); // (C)
                assert!(rest + *to.lock().unwrap() <= 11); // (C)
            });
        }
    });
}
