//! Registers a few names.

use registry::Checked;
use std::sync::Arc;
use std::thread;

fn main() {
    let registry = Arc::new(Checked::default());
    let threads: Vec<_> = (0..4)
        .map(|who| {
            let registry = Arc::clone(&registry);
            thread::spawn(move || registry.register("the same", who))
        })
        .collect();
    let lucky = threads.into_iter().map(|thread| thread.join().unwrap());
    println!("{} got it", lucky.filter(|got| *got).count());
}
