//! What a thread returns, or panics with, belongs to who joins it; also if the handle moves to another thread.
use races::{Shared, threads};
use std::thread;

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for _ in 0..10 {
        let handles: Vec<_> =
            (0..threads()).map(|number| thread::spawn(move || vec![Shared::new(number)])).collect();
        let sum: usize = thread::spawn(move || {
            handles.into_iter().map(|handle| unsafe { *handle.join().unwrap()[0].get() }).sum()
        })
        .join()
        .unwrap();
        assert_eq!(sum, (0..threads()).sum());
        let failed =
            thread::Builder::new().name("fails".into()).spawn(|| panic!("{}", "x".repeat(9))).unwrap();
        let told = failed.join().unwrap_err();
        assert_eq!(told.downcast_ref::<String>().unwrap().len(), 9);
    }
    println!("done");
}
