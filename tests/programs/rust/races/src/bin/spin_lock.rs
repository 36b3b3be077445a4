//! A lock made of an atomic flag.
use races::{Shared, in_all};
use std::sync::atomic::{AtomicBool, Ordering};

struct Spin<T> {
    held: AtomicBool,
    value: Shared<T>,
}

impl<T> Spin<T> {
    fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        while self.held.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
        let result = act(unsafe { &mut *self.value.get() });
        self.held.store(false, Ordering::Release);
        result
    }
}

fn main() {
    let list = Spin { held: AtomicBool::new(false), value: Shared::new(Vec::new()) };
    in_all(|number| {
        for step in 0..200 {
            list.with(|list| list.push(number * 1000 + step));
        }
    });
    println!("{}", list.with(|list| list.len() % 200));
}
