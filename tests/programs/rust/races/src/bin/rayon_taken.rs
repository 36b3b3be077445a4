//! A half is taken by another thread after the caller has gone on: what the caller did meanwhile it does not know.
// expect: data-race (A) (B)
use races::Shared;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static PLACE: Shared<[u64; 4]> = Shared::new([0; 4]);
/// Orders nothing.
static STATE: AtomicU32 = AtomicU32::new(0);

fn wait_for(state: u32) {
    while STATE.load(Ordering::Relaxed) < state {
        thread::yield_now();
    }
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        // The other thread is kept busy, until the caller has written.
        rayon::scope(|scope| {
            scope.spawn(|_| {
                STATE.store(1, Ordering::Relaxed);
                wait_for(2);
            });
            wait_for(1);
            unsafe { (&mut *PLACE.get())[0] = 1 };
            rayon::join(
                || {
                    rayon::join(|| (), || ());
                    unsafe { (&mut *PLACE.get())[1] = 2 }; // (A)
                    STATE.store(2, Ordering::Relaxed);
                    wait_for(3);
                },
                || {
                    // Before the fork.
                    unsafe { (&mut *PLACE.get())[0] += 1 };
                    unsafe { (&mut *PLACE.get())[1] += 3 }; // (B)
                    STATE.store(3, Ordering::Relaxed);
                },
            );
        });
    });
    println!("{:?}", unsafe { *PLACE.get() });
}
