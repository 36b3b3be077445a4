//! Conditions, mutexes that can be acquired again, fair ones, guards of parts, and `Once`: nothing is wrong with any of them.
use parking_lot::{Condvar, FairMutex, Mutex, MutexGuard, Once, ReentrantMutex};
use std::cell::Cell;

fn add(number: &FairMutex<u32>) {
    let before = *number.lock();
    *number.lock() = before + 1;
}

fn main() {
    static READY: Once = Once::new();
    let (queue, filled) = (Mutex::new(Vec::new()), Condvar::new());
    let (again, pair, turns) = (ReentrantMutex::new(Cell::new(0)), Mutex::new((0, 0)), FairMutex::new(0));
    programs::twice(|number| {
        READY.call_once(|| add(&turns));
        if number == 0 {
            queue.lock().push(1);
            add(&turns);
            queue.lock().push(2);
            filled.notify_one();
        } else {
            let mut queue = queue.lock();
            filled.wait_while(&mut queue, |queue| queue.len() < 2);
            assert_eq!(queue.pop(), Some(2));
        }
        let (outer, inner) = (again.lock(), again.lock());
        inner.set(outer.get() + 1);
        *MutexGuard::map(pair.lock(), |pair| &mut pair.1) += 1;
    });
    assert_eq!((again.lock().get(), pair.lock().1, *turns.lock()), (2, 2, 2));
}
