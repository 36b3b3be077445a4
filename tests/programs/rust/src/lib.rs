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

/// Runs a future with tokio: on as many workers as `THREADS` says, and on 1 with the runtime that has none.
pub fn with_tokio<T>(future: impl Future<Output = T>) -> T {
    use tokio::runtime::Builder;
    let threads = std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let runtime = match threads {
        1 => Builder::new_current_thread().build(),
        _ => Builder::new_multi_thread().worker_threads(threads).build(),
    };
    runtime.unwrap().block_on(future)
}
