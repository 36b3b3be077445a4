//! A pool of its own: a look in `install`, and the write in a task of another kind for each thread.
// expect: lock-gap (A) (B) (C)
use std::sync::Mutex;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let largest = Mutex::new(0);
    pool.install(|| *largest.lock().unwrap() = 1);
    pool.scope(|scope| {
        scope.spawn_broadcast(|_, context| {
            *largest.lock().unwrap() = context.index(); // (C)
        });
        scope.spawn(|_| {
            let seen = *largest.lock().unwrap(); // (A)
            *largest.lock().unwrap() = seen.max(7); // (B)
        });
    });
    pool.broadcast(|context| assert!(context.num_threads() == 2));
    pool.install(|| {
        let seen = *largest.lock().unwrap();
        *largest.lock().unwrap() = seen + 1;
    });
}
