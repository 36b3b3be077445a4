//! What the programs share.

use std::thread;

/// Runs something in two threads at once, with their numbers.
pub fn twice(act: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let threads = [0, 1].map(|number| {
            let act = &act;
            scope.spawn(move || act(number))
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
