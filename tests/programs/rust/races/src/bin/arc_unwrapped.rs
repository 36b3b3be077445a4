//! `get_mut`, `make_mut`, `try_unwrap`, `into_inner` and weak references: alone after the others are gone.
use races::{Shared, in_all, threads};
use std::sync::{Arc, Weak};

fn main() {
    for _ in 0..20 {
        let numbers = Arc::new(Shared::new(vec![0u64; 8]));
        let weak = Arc::downgrade(&numbers);
        let others: Vec<Shared<Weak<_>>> = (0..threads()).map(|_| Shared::new(weak.clone())).collect();
        drop(weak);
        let holder = Shared::new(Some(numbers));
        in_all(|number| {
            let weak = unsafe { std::mem::take(&mut *others[number].get()) };
            if number > 0 {
                if let Some(lent) = weak.upgrade() {
                    unsafe { (&mut *lent.get())[number] += 1 };
                }
                return;
            }
            drop(weak);
            let mut own = unsafe { (*holder.get()).take() }.unwrap();
            let alone = loop {
                if let Some(alone) = Arc::get_mut(&mut own) {
                    break alone;
                }
                std::thread::yield_now();
            };
            unsafe { (&mut *alone.get())[1] += 1 };
            let left = Arc::into_inner(own).unwrap();
            assert!(unsafe { (&*left.get())[1] } > 0);
        });
    }
    let mut text = Arc::new(String::from("a"));
    let other = text.clone();
    let thread = std::thread::spawn(move || other.len());
    Arc::make_mut(&mut text).push('b');
    thread.join().unwrap();
    println!("{}", Arc::try_unwrap(text).unwrap());
}
