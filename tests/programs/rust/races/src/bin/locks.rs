//! `Mutex`, `RwLock`, `Condvar` and `Barrier`, as contended as they get.
use races::{Shared, in_all, threads};
use std::collections::VecDeque;
use std::sync::{Barrier, Condvar, Mutex, RwLock};

fn main() {
    let queue = Mutex::new(VecDeque::new());
    let changed = Condvar::new();
    let table = RwLock::new(vec![0usize; 4]);
    let barrier = Barrier::new(threads());
    let slots: Vec<Shared<usize>> = (0..threads()).map(|_| Shared::new(0)).collect();
    in_all(|number| {
        for step in 0..100 {
            queue.lock().unwrap().push_back(Box::new(step));
            changed.notify_one();
            let taken =
                changed.wait_while(queue.lock().unwrap(), |queue| queue.is_empty()).unwrap().pop_front();
            assert!(taken.is_some());
            if step % 8 == number % 8 {
                table.write().unwrap()[step % 4] += 1;
            } else {
                assert!(table.read().unwrap().len() == 4);
            }
        }
        for step in 0..10 {
            unsafe { *slots[number].get() = step };
            barrier.wait();
            let next = (number + 1) % slots.len();
            assert_eq!(unsafe { *slots[next].get() }, step);
            barrier.wait();
        }
    });
    println!("{}", table.into_inner().unwrap().iter().sum::<usize>() > 0);
}
