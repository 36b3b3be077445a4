//! Tasks that panic have ended as well; the same places on the stacks of workers are used by others after them.
use std::panic::catch_unwind;
use std::sync::Mutex;

fn twice(value: &Mutex<u32>) {
    let before = *value.lock().unwrap();
    *value.lock().unwrap() = before + 1;
}

fn main() {
    std::panic::set_hook(Box::new(|_| ()));
    assert!(catch_unwind(|| rayon::join(|| panic!("left"), || 1)).is_err());
    assert!(catch_unwind(|| rayon::scope(|scope| scope.spawn(|_| panic!("spawned")))).is_err());
    rayon::scope(|scope| {
        for _ in 0..8 {
            // Each has its own, at a place where another one had its own before.
            scope.spawn(|_| {
                let own = Mutex::new(0);
                twice(&own);
                rayon::join(|| twice(&own), || ());
                assert_eq!(*own.lock().unwrap(), 2);
            });
        }
    });
}
